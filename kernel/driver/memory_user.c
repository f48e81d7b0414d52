// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the host machine, for memory.c. This file is compiled against the
 * C library, not the kernel.
 */
#include <stddef.h>
#include <sys/mman.h>

#include "memory.h"

void *host_memory_map(size_t len)
{
	void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	/* Programs' processes start as copies of this one. */
	if (madvise(memory, len, MADV_DONTFORK) < 0) {
		munmap(memory, len);
		return NULL;
	}
	return memory;
}

void host_memory_unmap(void *memory, size_t len)
{
	munmap(memory, len);
}
