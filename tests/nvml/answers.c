/* Reads the answers file (nvml.h describes it). Strict: whatever it does not understand is refused as a whole. */
#define _GNU_SOURCE
#include "nvml.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct answers answers;

struct device *answers_device(const struct device *parent, unsigned index)
{
	for (struct device *device = answers.devices; device < answers.devices + answers.devices_used; device++)
		if (device->parent == parent && device->index == index)
			return device;
	return NULL;
}

/* A clean slot at the table's end, or NULL where the table is full; `devices_used` counts it once it is whole. */
static struct device *next_device(void)
{
	if (answers.devices_used == MAX_DEVICES)
		return NULL;
	struct device *device = &answers.devices[answers.devices_used];
	*device = (struct device){.numa = ABSENT, .gpu_instance = ABSENT};
	return device;
}

static bool read_driver(char *rest)
{
	answers.driver = next_word(&rest);
	return *answers.driver && strlen(answers.driver) < 80 && !*rest;
}

static bool read_gpu(char *rest)
{
	struct device *gpu = next_device();
	if (!gpu || !read_number(next_word(&rest), MAX_DEVICES, &gpu->index) || gpu->index != answers.gpus)
		return false;
	gpu->minor = gpu->index;
	answers.devices_used++;
	answers.gpus++;
	return read_fields(rest, GPU, gpu) && gpu->uuid && gpu->pci.given;
}

static bool read_mig(char *rest)
{
	unsigned parent;
	struct device *mig = next_device();
	if (!mig || !read_number(next_word(&rest), MAX_DEVICES, &parent))
		return false;
	struct device *gpu = answers_device(NULL, parent);
	if (!gpu)
		return false;
	gpu->mig = 1;
	while (answers_device(gpu, mig->index))
		mig->index++;
	if (!read_fields(rest, MIG, mig) || !mig->uuid || mig->index >= MAX_MIGS || answers_device(gpu, mig->index))
		return false;
	if (mig->gpu_instance == ABSENT)
		mig->gpu_instance = mig->index + 1;
	mig->parent = gpu;
	answers.devices_used++;
	return true;
}

static bool read_ancestor(char *rest)
{
	struct ancestor *pair = &answers.ancestors[answers.ancestors_used];
	if (answers.ancestors_used++ >= MAX_ANCESTORS)
		return false;
	if (!read_number(next_word(&rest), MAX_DEVICES, &pair->first) ||
	    !read_number(next_word(&rest), MAX_DEVICES, &pair->second))
		return false;
	return read_number(next_word(&rest), 50, &pair->level) && pair->level % 10 == 0 && !*rest;
}

/*
 * The functions that an `error` line may name: a misspelt fault never happens and lets a test pass for nothing.
 * nvmlErrorString is not among them, it returns words and no code.
 */
static const char *const DRIVER_FUNCTIONS[] = {
	"nvmlInit_v2", "nvmlInitWithFlags", "nvmlShutdown", "nvmlSystemGetDriverVersion", "nvmlDeviceGetCount_v2",
};
static const char *const DEVICE_FUNCTIONS[] = {
	"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetHandleByPciBusId_v2",
	"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetUUID", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetIndex",
	"nvmlDeviceGetName", "nvmlDeviceGetCpuAffinityWithinScope", "nvmlDeviceGetMemoryAffinity",
	"nvmlDeviceGetNumaNodeId", "nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetMigMode",
	"nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceIsMigDeviceHandle",
	"nvmlDeviceGetDeviceHandleFromMigDeviceHandle", "nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId",
};

static bool is_among(const char *name, const char *const *names, size_t count)
{
	while (count-- > 0)
		if (strcmp(names[count], name) == 0)
			return true;
	return false;
}

static bool read_error(char *rest)
{
	struct fault *fault = &answers.faults[answers.faults_used];
	if (answers.faults_used++ >= MAX_FAULTS)
		return false;
	fault->function = next_word(&rest);
	fault->gpu = ABSENT;
	if (!read_number(next_word(&rest), INT_MAX, &fault->code) || fault->code == SUCCESS)
		return false;
	bool of_a_device = is_among(fault->function, DEVICE_FUNCTIONS, COUNT(DEVICE_FUNCTIONS));
	char *gpu = next_word(&rest);
	if (!*gpu)
		return of_a_device || is_among(fault->function, DRIVER_FUNCTIONS, COUNT(DRIVER_FUNCTIONS));
	return of_a_device && strncmp(gpu, "gpu=", 4) == 0 && read_number(gpu + 4, MAX_DEVICES, &fault->gpu) && !*rest;
}

static const struct statement {
	const char *name;
	bool (*read)(char *rest);
} STATEMENTS[] = {
	{"driver", read_driver},
	{"gpu", read_gpu},
	{"mig", read_mig},
	{"ancestor", read_ancestor},
	{"error", read_error},
};

/* End the line where its comment starts, and before the blanks at its end. */
static void trim(char *line)
{
	char *end = line + strlen(line);
	for (char *hash = strchr(line, '#'); hash; hash = strchr(hash + 1, '#'))
		if (hash == line || hash[-1] == ' ' || hash[-1] == '\t') {
			end = hash;
			break;
		}
	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
}

static bool read_line(char *line)
{
	trim(line);
	const char *name = next_word(&line);
	for (const struct statement *statement = STATEMENTS; statement < STATEMENTS + COUNT(STATEMENTS); statement++)
		if (strcmp(statement->name, name) == 0)
			return statement->read(line);
	return !*name;
}

/* Whether the pieces fit together, which only the whole file can say: a fault or a pair names GPUs that exist. */
static bool is_whole(void)
{
	for (size_t i = 0; i < answers.faults_used; i++)
		if (answers.faults[i].gpu != ABSENT && answers.faults[i].gpu >= answers.gpus)
			return false;
	for (size_t i = 0; i < answers.ancestors_used; i++)
		if (answers.ancestors[i].first >= answers.gpus || answers.ancestors[i].second >= answers.gpus)
			return false;
	return answers.driver;
}

/* The whole file as one string; false where it is too long or holds control characters, as no text does. */
static bool read_text(int file)
{
	size_t length = 0;
	ssize_t got;
	while ((got = read(file, answers.text + length, MAX_TEXT - length)) > 0)
		length += (size_t)got;
	answers.text[length] = '\0';
	for (const char *byte = answers.text; byte < answers.text + length; byte++)
		if (((unsigned char)*byte < ' ' && *byte != '\n' && *byte != '\t') || *byte == 0x7f)
			return false;
	return got == 0 && length < MAX_TEXT;
}

/* Empty the tables: what half a file said must not answer a call. */
static void forget(void)
{
	answers.driver = NULL;
	answers.gpus = 0;
	answers.devices_used = answers.faults_used = answers.ancestors_used = 0;
}

int answers_read(const char *path)
{
	forget();
	int file = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	if (file < 0)
		return DRIVER_NOT_LOADED;
	struct stat status;
	bool sound = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && read_text(file);
	close(file);
	for (char *rest = answers.text; sound && rest;)
		sound = read_line(strsep(&rest, "\n"));
	if (sound && is_whole())
		return SUCCESS;
	forget();
	return UNKNOWN;
}
