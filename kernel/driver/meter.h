/* SPDX-License-Identifier: GPL-2.0 */
/*
 * meter.h - events of one connection that tcp_sock has no count of
 *
 * The MIB counts them, but for a whole host. Each of them is also told to the
 * connection's congestion control, so a metered socket has a copy of its
 * congestion control's operations that counts the calls and passes them on.
 */
#ifndef ETALON_METER_H
#define ETALON_METER_H

#include <linux/types.h>

#include "sender.h"

struct sock;

struct meter_counts {
	u64 retransmits;	/* segments sent again */
	u64 rtos;	/* retransmission timeouts */
	u64 recoveries;	/* times that fast recovery was entered */
	u64 undos;	/* reductions of the window that were undone */
	u64 tlps;	/* tail loss probes */
	u32 probe;	/* where the last one that was counted ended */
	struct sender sender;
	/* Called when an ACK has come that TCP has not acted on; or NULL. */
	void (*acked)(struct meter_counts *counts);
};

/*
 * Counts events of the socket in *counts until meter_detach(). The socket must
 * be locked. It may be called again: TCP replaces the congestion control when
 * a connection turns out to lack what it needs (DCTCP without ECN).
 */
int meter_attach(struct sock *sk, struct meter_counts *counts);
/* Adds what is counted in the one to the other. */
void meter_add(struct meter_counts *to, const struct meter_counts *counts);
/* Counts what has happened but was not announced yet. */
void meter_settle(struct sock *sk);
void meter_detach(struct sock *sk);

#endif
