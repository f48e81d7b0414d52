// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/etalon: how the init program makes the hosts, starts the experiment,
 * reports on programs and ends the record. See device.h.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/time-internal.h>
#include <linux/uaccess.h>

#include "device.h"
#include "etalon.h"
#include "input.h"

/* Bytes of a program's stream that are taken at once. */
#define STREAM_MAX	4096
/* The longest sentence of a failure, its end included. */
#define SENTENCE_MAX	1024

static DECLARE_WAIT_QUEUE_HEAD(end_wait);
static bool ended;

/* The experiment has reached its end: init is told. Any context. */
void etalon_device_end(void)
{
	WRITE_ONCE(ended, true);
	wake_up(&end_wait);
}

/*
 * Reads what the host machine has for a program. While there is nothing, the
 * machine stands still, and virtual time with it.
 */
static ssize_t input_read(u32 program, char __user *to, size_t count)
{
	size_t part = min_t(size_t, count, STREAM_MAX);
	char *data = kmalloc(part, GFP_KERNEL);
	ssize_t got;

	if (!data)
		return -ENOMEM;
	if (!host_input_ready(ETALON_INPUT_FD))
		etalon_log_waiting(program);
	got = host_input_read(ETALON_INPUT_FD, data, part);
	if (got > 0 && copy_to_user(to, data, got))
		got = -EFAULT;
	kfree(data);
	return got;
}

static ssize_t device_read(struct file *file, char __user *to, size_t count,
			   loff_t *position)
{
	const struct etalon_stream *stream = file->private_data;
	const void *part;
	size_t length;

	if (stream)
		return stream->stream ? -EINVAL :
		       input_read(stream->program, to, count);
	part = etalon_init_part(&length);
	return simple_read_from_buffer(to, count, position, part, length);
}

static ssize_t device_write(struct file *file, const char __user *from,
			    size_t count, loff_t *position)
{
	const struct etalon_stream *stream = file->private_data;
	size_t done = 0;

	if (!stream || !stream->stream)
		return -EINVAL;
	while (done < count) {
		size_t part = min_t(size_t, count - done, STREAM_MAX);
		char *data = memdup_user(from + done, part);

		if (IS_ERR(data))
			return done ?: PTR_ERR(data);
		etalon_log_output(stream->program, stream->stream, data, part);
		kfree(data);
		done += part;
	}
	return done;
}

static long set_stream(struct file *file, const void __user *argument)
{
	struct etalon_stream *stream;

	if (file->private_data)
		return -EBUSY;
	stream = memdup_user(argument, sizeof(*stream));
	if (IS_ERR(stream))
		return PTR_ERR(stream);
	file->private_data = stream;
	return 0;
}

static long log_exit(const void __user *argument)
{
	struct etalon_exit exited;

	if (copy_from_user(&exited, argument, sizeof(exited)))
		return -EFAULT;
	etalon_log_exited(exited.program, exited.status);
	return 0;
}

static long log_failure(const void __user *argument)
{
	char *sentence = strndup_user(argument, SENTENCE_MAX);

	if (IS_ERR(sentence))
		return PTR_ERR(sentence);
	etalon_log_failure("%s", sentence);
	kfree(sentence);
	return 0;
}

static long clock_of(u64 __user *argument)
{
	u64 time;

	if (get_user(time, argument))
		return -EFAULT;
	return put_user(etalon_clock(time), argument);
}

static long create_host(const u32 __user *argument)
{
	u32 index;

	if (get_user(index, argument))
		return -EFAULT;
	return etalon_host_create(index, current->nsproxy->net_ns);
}

static long device_ioctl(struct file *file, unsigned int command,
			 unsigned long argument)
{
	void __user *pointer = (void __user *)argument;

	switch (command) {
	case ETALON_HOST:
		return create_host(pointer);
	case ETALON_CONTROL:
		return etalon_control_create(current->nsproxy->net_ns);
	case ETALON_START:
		return etalon_start();
	case ETALON_CLOCK:
		return clock_of(pointer);
	case ETALON_STREAM:
		return set_stream(file, pointer);
	case ETALON_EXITED:
		return log_exit(pointer);
	case ETALON_FAIL:
		return log_failure(pointer);
	case ETALON_FINISH:
		return etalon_finish();
	case ETALON_PACE:
		time_travel_pace();
		return 0;
	default:
		return -ENOTTY;
	}
}

static __poll_t device_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &end_wait, table);
	return READ_ONCE(ended) ? EPOLLHUP : 0;
}

static int device_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static int device_open(struct inode *inode, struct file *file)
{
	/* misc_open() left the device here; from now on it is the stream. */
	file->private_data = NULL;
	return 0;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.write = device_write,
	.unlocked_ioctl = device_ioctl,
	.poll = device_poll,
	.llseek = no_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "etalon",
	.fops = &device_operations,
	.mode = 0600,
};
builtin_misc_device(device);
