// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/circuits: how programs ask for circuits, where the plan's schedule has
 * them asked for. See circuits.h.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "circuits.h"
#include "etalon.h"

/* An open file: what was asked for through it, and what is to be said of that. */
struct claim {
	u32 number;
	bool waits;
	wait_queue_head_t wait;
	char said[256];
};

/* Files by number. */
static DEFINE_XARRAY_FLAGS(claims, XA_FLAGS_LOCK_IRQ);
static u32 opened;

/* The circuits that were asked for are up. The core calls it. */
void etalon_granted(u32 number, u32 changed)
{
	struct claim *claim = xa_load(&claims, number);

	if (!claim)
		return;
	snprintf(claim->said, sizeof(claim->said), "%u\n", changed);
	WRITE_ONCE(claim->waits, false);
	wake_up_interruptible(&claim->wait);
}

static ssize_t circuits_write(struct file *file, const char __user *from, size_t count,
			      loff_t *position)
{
	struct claim *claim = file->private_data;
	u32 host = etalon_host_of(current->nsproxy->net_ns);
	char *text;
	bool taken;

	if (count > ETALON_CIRCUITS_MAX)
		return -E2BIG;
	if (READ_ONCE(claim->waits))
		return -EBUSY;
	if (host == U32_MAX) {
		strscpy(claim->said, "only in the network namespace of a host can programs ask",
			sizeof(claim->said));
		return -EINVAL;
	}
	text = memdup_user_nul(from, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	/* Copying may have slept. */
	if (READ_ONCE(claim->waits)) {
		kfree(text);
		return -EBUSY;
	}
	taken = etalon_claim(claim->number, host, text, count, &claim->waits, claim->said,
			     sizeof(claim->said));
	kfree(text);
	return taken ? count : -EINVAL;
}

static ssize_t circuits_read(struct file *file, char __user *to, size_t count, loff_t *position)
{
	struct claim *claim = file->private_data;
	size_t length;
	int ret;

	if (READ_ONCE(claim->waits)) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(claim->wait, !READ_ONCE(claim->waits));
		if (ret)
			return ret;
	}
	length = min(count, strlen(claim->said));
	if (copy_to_user(to, claim->said, length))
		return -EFAULT;
	memmove(claim->said, claim->said + length, strlen(claim->said + length) + 1);
	return length;
}

static __poll_t circuits_poll(struct file *file, poll_table *table)
{
	struct claim *claim = file->private_data;

	poll_wait(file, &claim->wait, table);
	return READ_ONCE(claim->waits) ? 0 : EPOLLIN | EPOLLRDNORM;
}

static int circuits_open(struct inode *inode, struct file *file)
{
	struct claim *claim = kzalloc(sizeof(*claim), GFP_KERNEL);
	int ret;

	file->private_data = claim;
	if (!claim)
		return -ENOMEM;
	init_waitqueue_head(&claim->wait);
	claim->number = opened++;
	ret = xa_err(xa_store_irq(&claims, claim->number, claim, GFP_KERNEL));
	if (ret)
		kfree(claim);
	return ret;
}

static int circuits_release(struct inode *inode, struct file *file)
{
	struct claim *claim = file->private_data;

	xa_erase_irq(&claims, claim->number);
	etalon_give_up(claim->number);
	kfree(claim);
	return 0;
}

static const struct file_operations circuits_operations = {
	.owner = THIS_MODULE,
	.open = circuits_open,
	.release = circuits_release,
	.read = circuits_read,
	.write = circuits_write,
	.poll = circuits_poll,
	.llseek = no_llseek,
};

static struct miscdevice circuits = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "circuits",
	.fops = &circuits_operations,
	.mode = 0666,
};
builtin_misc_device(circuits);
