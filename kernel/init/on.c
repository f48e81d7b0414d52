// SPDX-License-Identifier: GPL-2.0
/*
 * The commands 'on HOST COMMAND...', which runs a command on another host, and
 * 'rsh HOST COMMAND...', which does so as remote shells do: for launchers of MPI.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int list_hosts(void)
{
	struct dirent **names;
	int count = scandir(NETNS_FOLDER, &names, visible, versionsort);

	if (count < 0) {
		fprintf(stderr, "on: cannot list the hosts: %s\n",
			strerror(errno));
		return 1;
	}
	for (int i = 0; i < count; i++)
		printf("%s\n", names[i]->d_name);
	return 0;
}

/* Moves the process to a host. Returns 0, or an exit status after a message. */
static int enter(const char *command, const char *host)
{
	char path[sizeof(NETNS_FOLDER) + 256];
	int netns;

	snprintf(path, sizeof(path), NETNS_FOLDER "/%s", host);
	netns = strchr(host, '/') ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (netns < 0) {
		fprintf(stderr, "%s: there is no host '%s'; 'on' alone lists the hosts\n",
			command, host);
		return 125;
	}
	if (host_enter(netns, host) < 0) {
		fprintf(stderr, "%s: cannot enter host %s: %s\n", command, host,
			strerror(errno));
		return 125;
	}
	return 0;
}

int on_main(int argc, char **argv)
{
	int status;

	if (argc == 1)
		return list_hosts();
	if (argc == 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: on HOST COMMAND [ARGUMENT...]\n"
				"Runs a command on a host; 'on' alone lists the hosts.\n");
		return 2;
	}
	status = enter("on", argv[1]);
	if (status)
		return status;
	execvp(argv[2], argv + 2);
	fprintf(stderr, "on: host %s cannot run '%s': %s\n", argv[1], argv[2],
		strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

/* Words with spaces between them. */
static char *joined(char **words)
{
	size_t length = 1;
	char *text;

	for (char **word = words; *word; word++)
		length += strlen(*word) + 1;
	text = calloc(1, length);
	for (char **word = words; text && *word; word++) {
		strcat(text, *word);
		if (word[1])
			strcat(text, " ");
	}
	return text;
}

/* Options are of no use here; the host's shell reads all words after its name. */
int rsh_main(int argc, char **argv)
{
	int first = 1, status;
	char *command;

	while (first < argc && argv[first][0] == '-')
		first++;
	if (argc - first < 2) {
		fprintf(stderr, "usage: rsh HOST COMMAND [ARGUMENT...]\n");
		return 2;
	}
	status = enter("rsh", argv[first]);
	if (status)
		return status;
	command = joined(argv + first + 1);
	if (command)
		execl("/bin/sh", "sh", "-c", command, NULL);
	fprintf(stderr, "rsh: host %s cannot run a shell: %s\n", argv[first],
		strerror(errno));
	return 126;
}
