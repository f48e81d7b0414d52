/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How programs ask for circuits through /dev/circuits.
 *
 * write() is a request, such as "r0>r1 r1>r2". It is granted whole, or waits.
 * An invalid one fails with EINVAL, and read() then says why, in a sentence.
 * While a request waits for its circuits, another through the same file is
 * refused (EBUSY). After a request read() waits until its circuits are up, and gives the number
 * of those that changed, as a line. poll() reports POLLIN then.
 *
 * The circuits are kept as long as the file is open, by any process, or until
 * another request through it does without them. A first line "ranks 0 0 1 1"
 * gives the racks of ranks, by which "0>1" names circuits as well.
 *
 * A line "as NAME" makes it one request with all others of that name, which
 * must ask for the same: so do the ranks of a collective. Who comes later waits
 * no longer than who came first, and the circuits are kept until the last has
 * closed its file. Such a file takes no other request.
 */
#ifndef ETALON_CIRCUITS_H
#define ETALON_CIRCUITS_H

#define ETALON_CIRCUITS		"/dev/circuits"
/* The longest request. */
#define ETALON_CIRCUITS_MAX	65536

#endif
