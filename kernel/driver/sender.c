// SPDX-License-Identifier: GPL-2.0
/*
 * sender.c - the state of a sender that is followed
 *
 * What stirs a sender is announced before TCP acts on it. A tasklet comes after:
 * its softirq runs after those of packets and of timers.
 */
#include <linux/interrupt.h>
#include <net/tcp.h>
#include <net/tdtcp.h>

#include "etalon.h"
#include "sender.h"

static LLIST_HEAD(stirred);

static void log_sender(const struct sender *sender)
{
	const struct tcp_sock *tp = tcp_sk(sender->sk);
	u8 path = tdtcp_on(tp) ? tp->tdtcp->tdn : sender->path;
	struct etalon_record record = {
		.time = etalon_now(),
		.kind = ETALON_RECORD_SENDER,
		.a = inet_csk(sender->sk)->icsk_ca_state | path << 4,
		.b = min_t(u32, tcp_packets_in_flight(tp), U16_MAX),
		.c = sender->flow,
		.d = tcp_snd_cwnd(tp),
		.e = tp->snd_ssthresh | (u64)(tp->srtt_us >> 3) << 32,
	};

	etalon_log(&record);
}

static void look_at_senders(struct tasklet_struct *unused)
{
	struct llist_node *all = llist_reverse_order(llist_del_all(&stirred));
	struct sender *sender, *next;

	llist_for_each_entry_safe(sender, next, all, node) {
		struct sock *sk = sender->sk;

		log_sender(sender);
		sender->sk = NULL;
		sock_put(sk);
	}
}

static DECLARE_TASKLET(senders, look_at_senders);

void sender_stir(struct sender *sender, struct sock *sk)
{
	if (!sender->followed || sender->sk)
		return;
	sock_hold(sk);
	sender->sk = sk;
	llist_add(&sender->node, &stirred);
	tasklet_schedule(&senders);
}
