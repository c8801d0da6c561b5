/* Reads the words of one line of the answers file (nvml.h describes it) into fields. */
#define _GNU_SOURCE
#include "nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char BLANK[] = " \t";

char *next_word(char **rest)
{
	*rest += strspn(*rest, BLANK);
	char *word = *rest;
	*rest += strcspn(*rest, BLANK);
	if (**rest)
		*(*rest)++ = '\0';
	return word;
}

/* The number that `text` starts with; what follows it, or NULL where there is none or a far too long one. */
static const char *leading_number(const char *text, unsigned *number)
{
	size_t digits = strspn(text, "0123456789");
	*number = (unsigned)strtoul(text, NULL, 10);
	return digits > 0 && digits < 10 ? text + digits : NULL;
}

bool read_number(const char *text, unsigned limit, void *field)
{
	unsigned *number = field;
	const char *end = leading_number(text, number);
	return end && !*end && *number <= limit;
}

static bool read_string(const char *text, unsigned longest, void *field)
{
	*(const char **)field = text;
	return *text && strlen(text) <= longest;
}

/* The kernel's list format, "0-31,64-95"; nothing at all is the empty set. */
static bool read_set(const char *text, unsigned limit, void *field)
{
	struct set *set = field;
	*set = (struct set){.given = true};
	if (!*text)
		return true;
	do {
		unsigned first, last;
		text = leading_number(text, &first);
		last = first;
		if (text && *text == '-')
			text = leading_number(text + 1, &last);
		if (!text || first > last || last > limit)
			return false;
		for (unsigned bit = first; bit <= last; bit++)
			set->words[bit / WORD_BITS] |= 1UL << bit % WORD_BITS;
	} while (*text++ == ',');
	return !text[-1];
}

bool read_address(const char *text, unsigned highest_device, void *field)
{
	struct address *address = field;
	int end = 0;
	*address = (struct address){.given = true};
	if (text[strspn(text, "0123456789abcdefABCDEF:.")])
		return false;
	if (sscanf(text, "%8x:%2x:%2x.0%n", &address->domain, &address->bus, &address->device, &end) < 3) {
		address->domain = 0;
		sscanf(text, "%2x:%2x.0%n", &address->bus, &address->device, &end);
	}
	return end > 0 && !text[end] && address->device <= highest_device;
}

#define FIELD(name) offsetof(struct device, name)

static const struct key {
	const char *name;
	enum owner owner;
	bool (*read)(const char *text, unsigned limit, void *field);
	unsigned limit;
	size_t field;
} KEYS[] = {
	{"uuid", EITHER, read_string, 79, FIELD(uuid)},
	{"name", EITHER, read_string, 95, FIELD(name)},
	{"pci", GPU, read_address, 31, FIELD(pci)},
	{"minor", GPU, read_number, 1 << 20, FIELD(minor)},
	{"cpus", GPU, read_set, MAX_CPU, FIELD(cpus[SCOPE_NODE])},
	{"nodes", GPU, read_set, MAX_NODE, FIELD(nodes[SCOPE_NODE])},
	{"socket-cpus", GPU, read_set, MAX_CPU, FIELD(cpus[SCOPE_SOCKET])},
	{"socket-nodes", GPU, read_set, MAX_NODE, FIELD(nodes[SCOPE_SOCKET])},
	{"numa", GPU, read_number, MAX_NODE, FIELD(numa)},
	{"mig", GPU, read_number, 1, FIELD(mig)},
	{"index", MIG, read_number, MAX_MIGS - 1, FIELD(index)},
	{"gi", MIG, read_number, 255, FIELD(gpu_instance)},
	{"ci", MIG, read_number, 255, FIELD(compute_instance)},
};

static bool read_field(const char *name, const char *value, enum owner owner, struct device *device)
{
	for (const struct key *key = KEYS; key < KEYS + sizeof KEYS / sizeof *KEYS; key++)
		if (key->owner & owner && strcmp(key->name, name) == 0)
			return key->read(value, key->limit, (char *)device + key->field);
	return false;
}

bool read_fields(char *rest, enum owner owner, struct device *device)
{
	while (*(rest += strspn(rest, BLANK))) {
		bool whole_line = strncmp(rest, "name=", 5) == 0;
		char *value = whole_line ? rest : next_word(&rest);
		const char *name = strsep(&value, "=");
		if (!value || !read_field(name, value, owner, device))
			return false;
		if (whole_line)
			return true;
	}
	return true;
}
