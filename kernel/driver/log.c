// SPDX-License-Identifier: GPL-2.0
/*
 * The log: records of 32 bytes, collected here and written to a pipe of the
 * process that started this kernel. A write that blocks stops the machine, and
 * virtual time with it, until the reader has caught up.
 */
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/reboot.h>
#include <linux/string.h>
#include <os.h>

#include "etalon.h"

#define BUFFER_BYTES	(256 << 10)
#define RECORD_BYTES	sizeof(struct etalon_record)

/* What the log tells of progress is not older than this (wall time, in ns). */
#define PROGRESS_NS	1000000000LL
/* What programs print is not older than this, as long as they print. */
#define OUTPUT_NS	50000000LL
/*
 * How old it is, is asked once in so many records or so much virtual time,
 * whichever comes first: reading the host's clock costs more than a record.
 */
#define ASK_RECORDS	64
#define ASK_NS		1000000

static u8 buffer[BUFFER_BYTES] __aligned(PAGE_SIZE);
static size_t filled;
static long long flushed_at;
static unsigned int unasked;
static u64 asked_at;

/* Nobody listens any more: nothing that happens from now on matters. */
static void __noreturn log_lost(int error)
{
	os_warn("etalon: the log cannot be written (error %d): stopping.\n",
		-error);
	machine_halt();
	unreachable();
}

static void write_out(void)
{
	size_t done = 0;

	while (done < filled) {
		int n = os_write_file(ETALON_LOG_FD, buffer + done, filled - done);

		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0)
			log_lost(n);
		done += n;
	}
	filled = 0;
	flushed_at = os_nsecs();
}

static void write_out_older_than(long long age)
{
	if (os_nsecs() - flushed_at >= age)
		write_out();
}

static void append(const void *data, size_t len)
{
	if (filled + len > BUFFER_BYTES)
		write_out();
	memcpy(buffer + filled, data, len);
	filled += len;
}

/* A whole record is in the buffer: tells of progress, however slow it is. */
static void appended(u64 time)
{
	if (++unasked < ASK_RECORDS && time - asked_at < ASK_NS)
		return;
	unasked = 0;
	asked_at = time;
	write_out_older_than(PROGRESS_NS);
}

/* The record of the core, interrupts being off. */
void etalon_log_raw(const struct etalon_record *record)
{
	append(record, RECORD_BYTES);
	appended(record->time);
}

void etalon_log(const struct etalon_record *record)
{
	unsigned long flags;

	local_irq_save(flags);
	etalon_log_raw(record);
	local_irq_restore(flags);
}

void etalon_log_data(const struct etalon_record *record, const void *data)
{
	static const u8 zeros[RECORD_BYTES];
	size_t padding = -(size_t)record->b % RECORD_BYTES;
	unsigned long flags;

	local_irq_save(flags);
	append(record, RECORD_BYTES);
	append(data, record->b);
	append(zeros, padding);
	appended(record->time);
	local_irq_restore(flags);
}

void etalon_log_output(u32 program, u32 stream, const void *data, size_t len)
{
	struct etalon_record record = {
		.time = etalon_now(),
		.kind = ETALON_RECORD_OUTPUT,
		.a = stream,
		.c = program,
	};
	unsigned long flags;

	local_irq_save(flags);
	while (len) {
		record.b = min_t(size_t, len, ETALON_DATA_MAX);
		etalon_log_data(&record, data);
		data += record.b;
		len -= record.b;
	}
	write_out_older_than(OUTPUT_NS);
	local_irq_restore(flags);
}

void etalon_log_exited(u32 program, u32 status)
{
	struct etalon_record record = {
		.time = etalon_now(),
		.kind = ETALON_RECORD_EXITED,
		.c = program,
		.d = status,
	};

	etalon_log(&record);
}

void etalon_log_waiting(u32 program)
{
	struct etalon_record record = {
		.time = etalon_now(),
		.kind = ETALON_RECORD_WAITING,
		.c = program,
	};

	etalon_log(&record);
	etalon_log_flush();
}

void etalon_log_failure(const char *format, ...)
{
	struct etalon_record record = { .kind = ETALON_RECORD_FAILURE };
	static char sentence[1024];
	unsigned long flags;
	va_list args;

	local_irq_save(flags);
	va_start(args, format);
	record.b = vscnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	record.time = etalon_now();
	etalon_log_data(&record, sentence);
	write_out();
	local_irq_restore(flags);
}

void etalon_log_flush(void)
{
	unsigned long flags;

	local_irq_save(flags);
	write_out();
	local_irq_restore(flags);
}
