/*
 * The calls about one device. A MIG handle has an index, a UUID and a name of its own; its PCI address and its affinity
 * are its parent's to tell: asked for them itself, it is an invalid argument.
 */
#include "nvml.h"

#include <stdio.h>
#include <string.h>

/* nvmlPciInfo_t since version 3. */
struct pci_info {
	char bus_id_legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

/* nvmlGpuTopologyLevel_t: the same GPU, the same node, and neither. */
enum level { INTERNAL = 0, NODE = 40, SYSTEM = 50 };

API int nvmlDeviceGetPciInfo_v3(const struct device *device, struct pci_info *info)
{
	int code = enter_device(__func__, device, GPU, info);
	if (code != SUCCESS)
		return code;
	unsigned domain = device->pci.domain, bus = device->pci.bus & 0xff, number = device->pci.device & 0x1f;
	*info = (struct pci_info){.domain = domain, .bus = bus, .device = number, .device_id = 0x233010de};
	snprintf(info->bus_id, sizeof info->bus_id, "%08X:%02X:%02X.0", domain, bus, number);
	domain &= 0xffff; /* all that the older field has room for */
	snprintf(info->bus_id_legacy, sizeof info->bus_id_legacy, "%04X:%02X:%02X.0", domain, bus, number);
	return SUCCESS;
}

API int nvmlDeviceGetUUID(const struct device *device, char *uuid, unsigned length)
{
	int code = enter_device(__func__, device, EITHER, uuid);
	return code == SUCCESS ? copy_out(device->uuid, uuid, length) : code;
}

API int nvmlDeviceGetName(const struct device *device, char *name, unsigned length)
{
	int code = enter_device(__func__, device, EITHER, name);
	return code == SUCCESS ? copy_out(device->name ? device->name : "NVIDIA GPU", name, length) : code;
}

API int nvmlDeviceGetMinorNumber(const struct device *device, unsigned *minor)
{
	int code = enter_device(__func__, device, GPU, minor);
	if (code == SUCCESS)
		*minor = device->minor;
	return code;
}

API int nvmlDeviceGetIndex(const struct device *device, unsigned *index)
{
	int code = enter_device(__func__, device, EITHER, index);
	if (code == SUCCESS)
		*index = device->index;
	return code;
}

/* One of a device's two sets, node scope or socket scope, in as many words as the caller has room for. */
static int answer_set(const struct set *sets, unsigned scope, unsigned size, unsigned long *words)
{
	if (scope >= SCOPES || size == 0)
		return INVALID_ARGUMENT;
	const struct set *set = sets[scope].given ? &sets[scope] : &sets[SCOPE_NODE];
	if (!set->given)
		return NOT_SUPPORTED;
	for (unsigned i = 0; i < size; i++)
		words[i] = i < SET_WORDS ? set->words[i] : 0;
	return SUCCESS;
}

API int nvmlDeviceGetCpuAffinityWithinScope(const struct device *device, unsigned size, unsigned long *words,
											unsigned scope)
{
	int code = enter_device(__func__, device, GPU, words);
	return code == SUCCESS ? answer_set(device->cpus, scope, size, words) : code;
}

API int nvmlDeviceGetMemoryAffinity(const struct device *device, unsigned size, unsigned long *words, unsigned scope)
{
	int code = enter_device(__func__, device, GPU, words);
	return code == SUCCESS ? answer_set(device->nodes, scope, size, words) : code;
}

API int nvmlDeviceGetNumaNodeId(const struct device *device, unsigned *node)
{
	int code = enter_device(__func__, device, GPU, node);
	if (code == SUCCESS && device->numa == ABSENT)
		return NOT_SUPPORTED;
	if (code == SUCCESS)
		*node = device->numa;
	return code;
}

/* What an `ancestor` line says; else the same GPU, the same memory nodes, or none of these. */
static unsigned common_ancestor(const struct device *first, const struct device *second)
{
	for (const struct ancestor *pair = answers.ancestors; pair < answers.ancestors + answers.ancestors_used; pair++)
		if ((pair->first == first->index && pair->second == second->index) ||
		    (pair->first == second->index && pair->second == first->index))
			return pair->level;
	if (first == second)
		return INTERNAL;
	const struct set *one = &first->nodes[SCOPE_NODE], *other = &second->nodes[SCOPE_NODE];
	return memcmp(one->words, other->words, sizeof one->words) == 0 ? NODE : SYSTEM;
}

API int nvmlDeviceGetTopologyCommonAncestor(const struct device *first, const struct device *second, unsigned *level)
{
	int code = enter_device(__func__, first, GPU, level);
	if (code == SUCCESS)
		code = enter_device(__func__, second, GPU, level);
	if (code == SUCCESS)
		*level = common_ancestor(first, second);
	return code;
}

API int nvmlDeviceGetMigMode(const struct device *device, unsigned *current, unsigned *pending)
{
	int code = enter_device(__func__, device, GPU, current && pending ? current : NULL);
	if (code == SUCCESS)
		*current = *pending = device->mig;
	return code;
}

API int nvmlDeviceGetMaxMigDeviceCount(const struct device *device, unsigned *count)
{
	int code = enter_device(__func__, device, GPU, count);
	if (code == SUCCESS)
		*count = device->mig ? MAX_MIGS : 0;
	return code;
}

API int nvmlDeviceGetMigDeviceHandleByIndex(const struct device *device, unsigned index, const struct device **mig)
{
	int code = enter_device(__func__, device, GPU, mig);
	return code == SUCCESS ? hand_out(__func__, answers_device(device, index), mig, NOT_FOUND) : code;
}

API int nvmlDeviceIsMigDeviceHandle(const struct device *device, unsigned *is_mig)
{
	int code = enter_device(__func__, device, EITHER, is_mig);
	if (code == SUCCESS)
		*is_mig = device->parent != NULL;
	return code;
}

API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(const struct device *mig, const struct device **device)
{
	int code = enter_device(__func__, mig, MIG, device);
	return code == SUCCESS ? hand_out(__func__, mig->parent, device, UNKNOWN) : code;
}

API int nvmlDeviceGetGpuInstanceId(const struct device *mig, unsigned *id)
{
	int code = enter_device(__func__, mig, MIG, id);
	if (code == SUCCESS)
		*id = mig->gpu_instance;
	return code;
}

API int nvmlDeviceGetComputeInstanceId(const struct device *mig, unsigned *id)
{
	int code = enter_device(__func__, mig, MIG, id);
	if (code == SUCCESS)
		*id = mig->compute_instance;
	return code;
}
