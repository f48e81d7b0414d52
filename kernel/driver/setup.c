// SPDX-License-Identifier: GPL-2.0
/*
 * setup.c - what this kernel is started with
 */
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <os.h>

#include "etalon.h"

static int __init read_all(void *to, size_t len)
{
	while (len) {
		int n = os_read_file(ETALON_SETUP_FD, to, min_t(size_t, len, SZ_1M));

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ?: -ENODATA;
		to += n;
		len -= n;
	}
	return 0;
}

/* Magic number and the lengths of both parts, then these: see crates/etalon-scenario/src/setup.rs. */
static int __init read_setup(u8 **setup, size_t *len)
{
	__le64 head[3];
	u64 parts[2];
	int ret;

	ret = read_all(head, sizeof(head));
	if (ret)
		return ret;
	parts[0] = le64_to_cpu(head[1]);
	parts[1] = le64_to_cpu(head[2]);
	if (memcmp(head, "ETALON1\n", sizeof(*head)) || parts[0] > SZ_1G ||
	    parts[1] > SZ_1G)
		return -EINVAL;
	*len = sizeof(head) + parts[0] + parts[1];
	*setup = kvzalloc(*len, GFP_KERNEL);
	if (!*setup)
		return -ENOMEM;
	memcpy(*setup, head, sizeof(head));
	return read_all(*setup + sizeof(head), *len - sizeof(head));
}

u8 *__init etalon_setup_read(size_t *len)
{
	u8 *setup = NULL;
	int ret = read_setup(&setup, len);

	if (ret == -EBADF) {
		pr_info("etalon: no setup, so there is nothing to emulate\n");
		return NULL;
	}
	if (ret)
		panic("etalon: the setup cannot be read (error %d)", -ret);
	return setup;
}
