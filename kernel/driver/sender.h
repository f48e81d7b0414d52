/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sender.h - the state of a sender that is followed
 *
 * It is logged when what stirs it has been acted on: an ACK, a timer.
 */
#ifndef ETALON_SENDER_H
#define ETALON_SENDER_H

#include <linux/llist.h>
#include <linux/types.h>

struct sock;

struct sender {
	u32 flow;
	u8 path;		/* MPTCP's subflow; 0 for TCP */
	bool followed;
	struct llist_node node;
	struct sock *sk;	/* held while it is to be looked at */
};

/* An ACK has come to the socket, or its state changes. Any context. */
void sender_stir(struct sender *sender, struct sock *sk);

#endif
