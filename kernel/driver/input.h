/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program reads that has the standard input of the one who started this
 * kernel. Included by the kernel's code and by the host's.
 */
#ifndef ETALON_INPUT_H
#define ETALON_INPUT_H

/* Whether a read would give something, or the end, at once. */
int host_input_ready(int fd);
/* As read(2), but waits whatever fd is; a negative errno if it fails. */
long host_input_read(int fd, void *to, unsigned long count);

#endif
