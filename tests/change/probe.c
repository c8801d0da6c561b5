/*
 * Stands in for the server: prints what its start left it, before any interpreter could change signals, variables or
 * open files. One "name value" a line; what may hold any byte is in hexadecimal.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void hex(const char *name, const char *text)
{
	printf("%s ", name);
	for (; *text; text++)
		printf("%02x", (unsigned char)*text);
	putchar('\n');
}

/* Every descriptor but the one that reads the list: its number, its flags, and where it leads. */
static void descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	struct dirent *entry;

	while ((entry = readdir(list))) {
		char target[4096] = "", path[300];
		int number = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || number == dirfd(list))
			continue;
		snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
		if (readlink(path, target, sizeof target - 1) < 0)
			continue;
		printf("fd %d %x %d %s\n", number, fcntl(number, F_GETFL), fcntl(number, F_GETFD), target);
	}
	closedir(list);
}

static void status(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[1024];

	while (fgets(line, sizeof line, file))
		if ((!strncmp(line, "Sig", 3) && line[3] != 'Q') || !strncmp(line, "Shd", 3) || !strncmp(line, "Thr", 3))
			printf("status %s", line);
	fclose(file);
}

int main(int argc, char **argv)
{
	char directory[4096];
	mode_t mask = umask(0);

	for (int i = 0; i < argc; i++)
		hex("argument", argv[i]);
	for (char **variable = environ; *variable; variable++)
		hex("variable", *variable);
	printf("pid %d\nparent %d\numask %o\n", getpid(), getppid(), mask);
	hex("directory", getcwd(directory, sizeof directory) ? directory : "");
	descriptors();
	status();
	return 0;
}
