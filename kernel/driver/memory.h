/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the host machine rather than of the emulated one: in any context,
 * of any size. Included by the kernel's code and by the host's.
 */
#ifndef ETALON_MEMORY_H
#define ETALON_MEMORY_H

/* NULL if there is none. */
void *host_memory_map(size_t len);
void host_memory_unmap(void *memory, size_t len);

#endif
