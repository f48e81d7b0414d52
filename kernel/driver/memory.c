// SPDX-License-Identifier: GPL-2.0
/*
 * The Rust core's memory. Its queues grow while interrupts are off, and a queue
 * of a hundred thousand packets takes more than the largest block that the page
 * allocator has (4 MiB), which it may not have in one piece anyway. vmalloc()
 * cannot be called then. Large blocks therefore come from the host.
 */
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/slab.h>

#include "etalon.h"
#include "memory.h"

/* The page allocator gives up to this without trouble. */
#define KERNEL_MAX	(PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)

void *etalon_alloc(size_t len)
{
	bool atomic = irqs_disabled() || in_interrupt();

	if (len > KERNEL_MAX)
		return host_memory_map(len);
	return kmalloc(len, atomic ? GFP_ATOMIC : GFP_KERNEL);
}

void etalon_free(void *memory, size_t len)
{
	if (len > KERNEL_MAX)
		host_memory_unmap(memory, len);
	else
		kfree(memory);
}
