// SPDX-License-Identifier: GPL-2.0
/*
 * Standard input of the host machine, for device.c. This file is compiled
 * against the C library, not the kernel.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "input.h"

static int wait_for(int fd, int ms)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };

	return poll(&input, 1, ms) > 0;
}

int host_input_ready(int fd)
{
	return wait_for(fd, 0);
}

long host_input_read(int fd, void *to, unsigned long count)
{
	for (;;) {
		ssize_t got = read(fd, to, count);

		if (got >= 0)
			return got;
		/* Whoever opened it may have asked not to wait. */
		if (errno == EAGAIN)
			wait_for(fd, -1);
		else if (errno != EINTR)
			return -errno;
	}
}
