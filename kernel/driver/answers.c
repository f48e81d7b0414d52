// SPDX-License-Identifier: GPL-2.0
/*
 * answers.c - questions of the core to who decides outside of this kernel
 *
 * A question is a record of the log. The machine, and virtual time with it,
 * stands still until the answer is there.
 */
#include <linux/kernel.h>
#include <linux/reboot.h>
#include <linux/string.h>

#include "etalon.h"
#include "input.h"

/* The next bytes of the answer. */
void etalon_answer(u8 *answer, size_t len)
{
	/* The host's kernel can write here, as it cannot into memory that is not mapped yet. */
	static u8 part[PAGE_SIZE];

	while (len) {
		long got = host_input_read(ETALON_ANSWER_FD, part, min(len, sizeof(part)));

		/* Nobody answers any more: nothing that happens from now on matters. */
		if (got <= 0)
			machine_halt();
		memcpy(answer, part, got);
		answer += got;
		len -= got;
	}
}

void etalon_ask(const struct etalon_record *question, u8 *answer, size_t len)
{
	etalon_log_raw(question);
	etalon_log_flush();
	etalon_answer(answer, len);
}
