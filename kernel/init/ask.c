// SPDX-License-Identifier: GPL-2.0
/*
 * The command 'etalon' on hosts: 'etalon ask r0>r1 ...' asks for circuits. All
 * else is the host machine's etalon, if programs find one there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../driver/circuits.h"
#include "init.h"

static int usage(void)
{
	fprintf(stderr, "usage: etalon ask [--no-wait] CIRCUIT... [-- COMMAND...]\n"
			"Asks for circuits, like r0>r1, or like 0>1 between ranks of MPI, and waits until they are up.\n"
			"They stay until another request needs their ports, or as long as COMMAND runs.\n");
	return 2;
}

/* Runs the host machine's etalon: the first in PATH that is not this one. */
static int run_other(char **argv)
{
	char *path = getenv("PATH"), *rest = strdup(path ? path : ""), *folder;
	char candidate[4096];

	while (rest && (folder = strsep(&rest, ":"))) {
		if (!*folder || !strncmp(folder, COMMAND_FOLDER, strlen(COMMAND_FOLDER)))
			continue;
		snprintf(candidate, sizeof(candidate), "%s/etalon", folder);
		execv(candidate, argv);
	}
	fprintf(stderr, "etalon: on hosts there is only 'etalon ask', because no other etalon is in PATH\n");
	return 127;
}

/* The request: the racks of ranks, if there are ranks, and all circuits. */
static char *request(char **words, int count)
{
	const char *ranks = getenv("ETALON_RANKS");
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	if (ranks)
		fprintf(to, "ranks %s\n", ranks);
	for (int i = 0; i < count; i++)
		fprintf(to, "%s ", words[i]);
	return fclose(to) ? NULL : text;
}

/* The kernel's sentence about the request that it refused. */
static int refused(int fd, int error)
{
	char why[256];
	ssize_t length = error == EINVAL ? read(fd, why, sizeof(why)) : 0;

	if (length > 0)
		fprintf(stderr, "etalon ask: %.*s\n", (int)length, why);
	else
		fprintf(stderr, "etalon ask: the request is not taken: %s\n", strerror(error));
	return 1;
}

static int ask(int argc, char **argv)
{
	int first = 1, last, waits = 1, fd;
	char *text, changed[16];

	if (first < argc && !strcmp(argv[first], "--no-wait")) {
		waits = 0;
		first++;
	}
	for (last = first; last < argc && strcmp(argv[last], "--"); last++)
		if (argv[last][0] == '-')
			return usage();
	if (last == first || (last < argc && last + 1 == argc))
		return usage();
	fd = open(ETALON_CIRCUITS, O_RDWR);
	if (fd < 0) {
		fprintf(stderr, "etalon ask: " ETALON_CIRCUITS ": %s\n", strerror(errno));
		return 1;
	}
	text = request(argv + first, last - first);
	if (!text) {
		fprintf(stderr, "etalon ask: no memory for the request\n");
		return 1;
	}
	if (write(fd, text, strlen(text)) < 0)
		return refused(fd, errno);
	while (waits && read(fd, changed, sizeof(changed)) < 0)
		if (errno != EINTR)
			return refused(fd, errno);
	if (last == argc)
		return 0;
	execvp(argv[last + 1], argv + last + 1);
	fprintf(stderr, "etalon ask: cannot run '%s': %s\n", argv[last + 1], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

int etalon_main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "ask"))
		return ask(argc - 1, argv + 1);
	return run_other(argv);
}
