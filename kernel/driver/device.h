/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the init program says to the kernel through /dev/etalon.
 *
 * read() gives struct etalon_init of core.h and what follows it; poll() reports POLLHUP once the
 * experiment has ended. An open file that ETALON_STREAM made a program's stream
 * is read or written as such.
 */
#ifndef ETALON_DEVICE_H
#define ETALON_DEVICE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* One of a program's streams: 0 standard input, 1 output, 2 error. */
struct etalon_stream {
	__u32 program;
	__u32 stream;
};

/* How a program ended: the status as wait(2) gives it. */
struct etalon_exit {
	__u32 program;
	__s32 status;
};

/* Creates eth0 of this host in the caller's network namespace. */
#define ETALON_HOST	_IOW('E', 1, __u32)
/* Starts the experiment at the next whole second. */
#define ETALON_START	_IO('E', 2)
/* Turns virtual time into CLOCK_MONOTONIC, both in ns; after the start. */
#define ETALON_CLOCK	_IOWR('E', 3, __u64)
/* Makes this open file a stream of a program. */
#define ETALON_STREAM	_IOW('E', 4, struct etalon_stream)
/* Reports the end of a program. */
#define ETALON_EXITED	_IOW('E', 5, struct etalon_exit)
/* Says, as a sentence (a string), why the run cannot go on. */
#define ETALON_FAIL	_IOW('E', 6, char *)
/* Ends the experiment's record: everything is written after this. */
#define ETALON_FINISH	_IO('E', 7)
/* Creates ctl0, on the control network, in the caller's network namespace. */
#define ETALON_CONTROL	_IO('E', 9)
/* Keeps the kernel's clock from running ahead of the wall clock. */
#define ETALON_PACE	_IO('E', 8)

#endif
