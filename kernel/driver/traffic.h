/* SPDX-License-Identifier: GPL-2.0 */
/*
 * traffic.h - what the plan's flows (traffic.c), flows that are opened from
 * outside (messages.c) and their listeners (listeners.c) have in common
 */
#ifndef ETALON_TRAFFIC_H
#define ETALON_TRAFFIC_H

#include <linux/kthread.h>
#include <linux/sizes.h>

#include "etalon.h"
#include "meter.h"

struct page;
struct sock;
struct socket;

/* What is written at once: always the same pages. */
#define TRAFFIC_BLOCK	((size_t)SZ_128K)

/* The one thread that serves all sockets. */
extern struct kthread_worker *traffic_worker;
extern struct page *traffic_block;

struct traffic_window {
	u32 cwnd, ssthresh, srtt_us;
};

/*
 * Counts what happens to the paths of a client of MPTCP, which come up one after
 * the other. 0 or an error.
 */
int traffic_follow(struct sock *sk, struct meter_counts counts[ETALON_PATHS]);
/* What has happened to a socket's paths is counted; its first one's window, if that is asked for. */
void traffic_snapshot(struct sock *sk, struct traffic_window *window);
/* Nothing is counted any more. */
void traffic_leave(struct sock *sk);
/* Logs all counters of a flow, whose paths have these. */
void traffic_counters(u64 time, u32 index, u64 received,
		      const struct meter_counts counts[ETALON_PATHS],
		      const struct traffic_window *window);

/* How many flows the plan has, and one of them. */
u32 traffic_flows(void);
const struct etalon_flow *traffic_plan(u32 index);
/* A connection was accepted, of one of them or of none. */
void traffic_adopt(struct socket *sock);

/* The same of flows that are opened from outside, which have the numbers after. */
void messages_adopt(struct socket *sock, u32 index);
int messages_start(void);
void messages_milestone(u64 time);

/* Listens on each host that flows come to. 0 or an error, which was told. */
int listeners_start(void);

#endif
