// SPDX-License-Identifier: GPL-2.0
/*
 * meter.c - events of one connection that tcp_sock has no count of
 *
 * tcp_enter_loss() and tcp_enter_recovery() announce the new state with
 * set_state(), tcp_undo_cwnd_reduction() asks undo_cwnd() for the window. A
 * probe is not announced, but stays in tlp_high_seq until an ACK
 * (in_ack_event() comes before it is looked at) or a timeout (set_state()
 * comes before it is cleared).
 */

#include <linux/slab.h>
#include <net/tcp.h>
#include <net/tdtcp.h>

#include "meter.h"

struct meter {
	struct tcp_congestion_ops ops;
	const struct tcp_congestion_ops *real;
	struct meter *next;
};

/* One for each congestion control in use. They stay: there are few. */
static struct meter *meters;

static struct meter *meter_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct meter, ops);
}

/*
 * Two probes do not end at the same byte: the second one would need data in
 * flight past the end of the first, which is acknowledged by then. (Except
 * after a timeout that proves spurious, see meter_set_state().)
 */
static void count_probe(const struct sock *sk, struct meter_counts *counts)
{
	u32 probe = tcp_sk(sk)->tlp_high_seq;

	counts->tlps += probe && probe != counts->probe;
	counts->probe = probe;
}

/* What needs no announcement. */
static void count(const struct sock *sk, struct meter_counts *counts)
{
	counts->retransmits = tcp_sk(sk)->total_retrans;
	count_probe(sk, counts);
}

static void meter_set_state(struct sock *sk, u8 state)
{
	const struct tcp_congestion_ops *real = meter_of(sk)->real;
	struct meter_counts *counts = sk->sk_user_data;

	if (counts) {
		sender_stir(&counts->sender, sk);
		count_probe(sk, counts);
		if (state == TCP_CA_Loss) {
			counts->rtos++;
			counts->probe = 0;
		} else if (state == TCP_CA_Recovery) {
			counts->recoveries++;
		}
	}
	if (real->set_state)
		real->set_state(sk, state);
}

static void meter_in_ack_event(struct sock *sk, u32 flags)
{
	const struct tcp_congestion_ops *real = meter_of(sk)->real;
	struct meter_counts *counts = sk->sk_user_data;

	if (counts) {
		sender_stir(&counts->sender, sk);
		count(sk, counts);
		if (counts->acked)
			counts->acked(counts);
	}
	if (real->in_ack_event)
		real->in_ack_event(sk, flags);
}

static u32 meter_undo_cwnd(struct sock *sk)
{
	struct meter_counts *counts = sk->sk_user_data;

	if (counts)
		counts->undos++;
	return meter_of(sk)->real->undo_cwnd(sk);
}

/* A congestion control that counts and passes on, or NULL without memory. */
static const struct tcp_congestion_ops *metered(const struct tcp_congestion_ops *real)
{
	struct meter *meter;

	if (real->undo_cwnd == meter_undo_cwnd)
		return real;
	for (meter = meters; meter; meter = meter->next)
		if (meter->real == real)
			return &meter->ops;
	meter = kmalloc(sizeof(*meter), GFP_ATOMIC);
	if (!meter)
		return NULL;
	meter->ops = *real;
	meter->ops.set_state = meter_set_state;
	meter->ops.in_ack_event = meter_in_ack_event;
	meter->ops.undo_cwnd = meter_undo_cwnd;
	meter->real = real;
	meter->next = meters;
	meters = meter;
	return &meter->ops;
}

int meter_attach(struct sock *sk, struct meter_counts *counts)
{
	const struct tcp_congestion_ops *ops = metered(inet_csk(sk)->icsk_ca_ops);
	struct tdtcp *td = tcp_sk(sk)->tdtcp;
	u8 i;

	sk->sk_user_data = counts;
	if (!ops)
		return -ENOMEM;
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, ops);
	/* Other TDNs' congestion controls, if they are not to have this one. */
	for (i = 0; td && i < td->tdns; i++) {
		ops = td->path[i].ca_ops ? metered(td->path[i].ca_ops) : NULL;
		if (ops)
			td->path[i].ca_ops = ops;
	}
	return 0;
}

void meter_add(struct meter_counts *to, const struct meter_counts *counts)
{
	to->retransmits += counts->retransmits;
	to->rtos += counts->rtos;
	to->recoveries += counts->recoveries;
	to->undos += counts->undos;
	to->tlps += counts->tlps;
}

void meter_settle(struct sock *sk)
{
	if (sk->sk_user_data)
		count(sk, sk->sk_user_data);
}

void meter_detach(struct sock *sk)
{
	sk->sk_user_data = NULL;
}
