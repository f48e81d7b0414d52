// SPDX-License-Identifier: GPL-2.0
/* The command 'on HOST COMMAND...': runs a command on another host. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

int on_main(int argc, char **argv)
{
	char path[sizeof(NETNS_FOLDER) + 256];
	int netns;

	if (argc == 1)
		return list_hosts();
	if (argc == 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: on HOST COMMAND [ARGUMENT...]\n"
				"Runs a command on a host; 'on' alone lists the hosts.\n");
		return 2;
	}
	snprintf(path, sizeof(path), NETNS_FOLDER "/%s", argv[1]);
	netns = strchr(argv[1], '/') ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (netns < 0) {
		fprintf(stderr, "on: there is no host '%s'; 'on' alone lists the hosts\n",
			argv[1]);
		return 125;
	}
	if (host_enter(netns, argv[1]) < 0) {
		fprintf(stderr, "on: cannot enter host %s: %s\n", argv[1],
			strerror(errno));
		return 125;
	}
	execvp(argv[2], argv + 2);
	fprintf(stderr, "on: host %s cannot run '%s': %s\n", argv[1], argv[2],
		strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
