// SPDX-License-Identifier: GPL-2.0
/*
 * messages.c - flows that are opened from outside, while the experiment runs
 *
 * Whoever decides outside of this kernel (crates/etalon-linux/src/desk.rs) opens
 * connections between ranks of jobs, or flows of generators, and writes messages
 * into them: from either end, one after the other; MPTCP's from their clients. To
 * TCP they are what the plan's flows are (traffic.c), without Nagle's algorithm,
 * and served by the same thread. The core is told how far each stream has been
 * sent and read; it knows where messages end, and asks what comes next.
 */
#include <linux/irqflags.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "traffic.h"
#include "transport.h"

struct message_flow;

/* One end of a connection. */
struct end {
	struct message_flow *flow;
	u32 number;		/* 2n the client of flow n, 2n + 1 its server */
	struct socket *sock;
	u64 wanted, written;	/* bytes to write, and those that its socket took */
	u64 sent, received;
	bool closes, shut;
	struct meter_counts counts[ETALON_PATHS];
	struct wait_queue_entry wait;	/* of an MPTCP client */
	struct kthread_work work;
};

struct message_flow {
	struct etalon_flow plan;
	bool opened;
	struct traffic_window window;
	struct end ends[2];
};

static struct message_flow **flows;	/* from the first number after the plan's on */
static u32 room, count;

static struct message_flow *flow_of(u32 index)
{
	u32 place = index - traffic_flows();

	return place < count ? flows[place] : NULL;
}

static u32 index_of(const struct end *end)
{
	return end->number / 2;
}

static bool is_client(const struct end *end)
{
	return !(end->number & 1);
}

static void end_wake(struct end *end)
{
	kthread_queue_work(traffic_worker, &end->work);
}

/* ----------------------------------------------- what happens to sockets -- */

static struct end *end_of(const struct sock *sk)
{
	struct meter_counts *counts = sk->sk_user_data;

	return counts ? container_of(counts, struct end, counts[0]) : NULL;
}

static void end_data_ready(struct sock *sk)
{
	struct end *end = end_of(sk);

	if (end)
		end_wake(end);
}

static void end_state_change(struct sock *sk)
{
	struct end *end = end_of(sk);

	if (!end)
		return;
	/* DCTCP without ECN has replaced itself by now. */
	if (sk->sk_state == TCP_ESTABLISHED && !transport_is_mptcp(sk) &&
	    meter_attach(sk, end->counts))
		etalon_log_failure("flow %u: no memory to count its events", index_of(end));
	end_wake(end);
}

/* As sk_stream_write_space(): once a third of the send buffer is free. */
static void end_write_space(struct sock *sk)
{
	struct end *end = end_of(sk);

	if (!end || !sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	end_wake(end);
}

/* An ACK has come: more may have been sent when it has been acted on. */
static void end_acked(struct meter_counts *counts)
{
	struct end *end = container_of(counts - counts->sender.path, struct end, counts[0]);

	if (end->sent < end->wanted)
		end_wake(end);
}

/* All of these: MPTCP does not ask for a client's own functions. */
static int end_woken(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	end_wake(container_of(wait, struct end, wait));
	return 0;
}

/* The socket must be locked. */
static int end_listen(struct end *end, struct sock *sk)
{
	bool mptcp = transport_is_mptcp(sk);
	int ret = 0;

	if (mptcp && is_client(end)) {
		init_waitqueue_func_entry(&end->wait, end_woken);
		add_wait_queue(sk_sleep(sk), &end->wait);
		return 0;
	}
	write_lock_bh(&sk->sk_callback_lock);
	if (mptcp)
		sk->sk_user_data = end->counts;
	else
		ret = meter_attach(sk, end->counts);
	sk->sk_data_ready = end_data_ready;
	sk->sk_state_change = end_state_change;
	sk->sk_write_space = end_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	if (mptcp)
		return 0;
	if (etalon_info()->pacing)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	tcp_sk(sk)->nonagle |= TCP_NAGLE_OFF;
	return ret;
}

/* ----------------------------------------------------------- the thread -- */

/* MPTCP's subflows, also those to come, do without Nagle's algorithm. */
static int no_delay(struct socket *sock)
{
	int one = 1;

	return sock->ops->setsockopt(sock, SOL_TCP, TCP_NODELAY, KERNEL_SOCKPTR(&one),
				     sizeof(one));
}

static int client_open(struct end *end)
{
	const struct etalon_flow *plan = &end->flow->plan;
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_port = transport_port(index_of(end), 0),
	};
	struct sockaddr_in remote = {
		.sin_family = AF_INET,
		.sin_port = htons(ETALON_SERVER_PORT),
		.sin_addr.s_addr = etalon_address(plan->dst),
	};
	int ret;

	ret = transport_client(plan, index_of(end), &end->sock);
	if (!end->sock)
		return ret;
	if (!ret) {
		lock_sock(end->sock->sk);
		ret = end_listen(end, end->sock->sk);
		release_sock(end->sock->sk);
	}
	if (!ret && transport_is_mptcp(end->sock->sk))
		ret = no_delay(end->sock);
	if (!ret)
		ret = kernel_bind(end->sock, (struct sockaddr *)&local, sizeof(local));
	if (!ret)
		ret = kernel_connect(end->sock, (struct sockaddr *)&remote, sizeof(remote),
				     O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

void messages_adopt(struct socket *sock, u32 index)
{
	struct message_flow *flow = flow_of(index);
	struct sock *sk = sock->sk;
	struct end *end;
	int ret;

	if (!flow || flow->ends[1].sock ||
	    inet_sk(sk)->inet_daddr != etalon_address(flow->plan.src) ||
	    inet_sk(sk)->inet_rcv_saddr != etalon_address(flow->plan.dst)) {
		sock_release(sock);
		return;
	}
	end = &flow->ends[1];
	end->sock = sock;
	ret = transport_adopt(sock, &flow->plan);
	lock_sock(sk);
	if (!ret)
		ret = end_listen(end, sk);
	release_sock(sk);
	if (ret)
		etalon_log_failure("flow %u: host %u cannot accept it with %s: error %d", index,
				   flow->plan.dst, flow->plan.cc, -ret);
	end_wake(end);
}

/* Writes until the send buffer is full, without packets that are not full but the last. */
static void end_write(struct end *end)
{
	u64 before = end->written;

	while (end->written < end->wanted) {
		u64 left = end->wanted - end->written;
		int more = left > TRAFFIC_BLOCK ? MSG_MORE | MSG_SENDPAGE_NOTLAST : 0;
		int sent = kernel_sendpage(end->sock, traffic_block, 0,
					   min_t(u64, TRAFFIC_BLOCK, left), MSG_DONTWAIT | more);

		if (sent <= 0)
			break;
		end->written += sent;
	}
	if (end->written > before)
		etalon_flow_accepted(end->number, end->written - before);
	if (end->closes && !end->shut && end->written == end->wanted) {
		end->shut = true;
		kernel_sock_shutdown(end->sock, SHUT_WR);
	}
}

/* What TCP has sent, to the host's queueing discipline. */
static void end_tell_sent(struct end *end)
{
	u64 sent;

	lock_sock(end->sock->sk);
	sent = end->written - (end->shut ? 0 : transport_unsent(end->sock->sk));
	release_sock(end->sock->sk);
	if (sent <= end->sent)
		return;
	end->sent = sent;
	etalon_message_sent(end->number, sent);
}

static void end_look(struct end *end)
{
	traffic_snapshot(end->sock->sk, is_client(end) ? &end->flow->window : NULL);
}

static void end_release(struct end *end)
{
	struct sock *sk = end->sock->sk;

	lock_sock(sk);
	end_look(end);
	traffic_leave(sk);
	if (transport_is_mptcp(sk))
		sk->sk_user_data = NULL;
	release_sock(sk);
	if (transport_is_mptcp(sk) && is_client(end))
		remove_wait_queue(sk_sleep(sk), &end->wait);
	sock_release(end->sock);
	end->sock = NULL;
}

static void end_run(struct kthread_work *work)
{
	struct end *end = container_of(work, struct end, work);
	u64 before = end->received;
	unsigned long flags;
	bool ends;
	int state, ret;

	if (!end->sock && is_client(end) && !end->flow->opened) {
		end->flow->opened = true;
		local_irq_save(flags);
		etalon_flow(index_of(end), &end->flow->plan);
		local_irq_restore(flags);
		ret = client_open(end);
		if (ret)
			etalon_log_failure("flow %u cannot connect from host %u to %u: error %d",
					   index_of(end), end->flow->plan.src,
					   end->flow->plan.dst, -ret);
		return;
	}
	if (!end->sock)
		return;
	state = end->sock->sk->sk_state;
	if (state == TCP_SYN_SENT || state == TCP_SYN_RECV)
		return;
	if (is_client(end) && end->flow->plan.subflows &&
	    traffic_follow(end->sock->sk, end->counts))
		etalon_log_failure("flow %u: no memory to count its events", index_of(end));
	end->received += transport_read(end->sock, &ends);
	if (end->received > before)
		etalon_message_read(end->number, end->received);
	if (state == TCP_ESTABLISHED) {
		end_write(end);
		end_tell_sent(end);
	}
	/* A server closes when its client has; a client, when its server has, too. */
	if (ends && (!is_client(end) || end->sock->sk->sk_state == TCP_CLOSE))
		end_release(end);
}

/* ------------------------------------------------- what the core decides -- */

static void end_init(struct message_flow *flow, u32 index, unsigned int side)
{
	struct end *end = &flow->ends[side];
	unsigned int n;

	end->flow = flow;
	end->number = 2 * index + side;
	for (n = 0; n < ETALON_PATHS; n++) {
		end->counts[n].sender.flow = index;
		end->counts[n].sender.path = n;
		end->counts[n].acked = end_acked;
	}
	kthread_init_work(&end->work, end_run);
}

void etalon_message_open(u32 index)
{
	struct message_flow *flow = kzalloc(sizeof(*flow), GFP_ATOMIC);

	if (!flow || count == room)
		panic("etalon: no room for flow %u", index);
	end_init(flow, index, 0);
	end_init(flow, index, 1);
	flows[count++] = flow;
	end_wake(&flow->ends[0]);
}

void etalon_message_write(u32 stream, u64 bytes)
{
	struct message_flow *flow = flow_of(stream / 2);

	if (!flow)
		return;
	flow->ends[stream & 1].wanted += bytes;
	end_wake(&flow->ends[stream & 1]);
}

void etalon_message_close(u32 index)
{
	struct message_flow *flow = flow_of(index);

	if (!flow)
		return;
	flow->ends[0].closes = true;
	end_wake(&flow->ends[0]);
}

/* --------------------------------------------------------------- the run -- */

int messages_start(void)
{
	if (!etalon_info()->kinds)
		return 0;
	room = U16_MAX + 1 - ETALON_CLIENT_PORT - traffic_flows();
	flows = kvcalloc(room, sizeof(*flows), GFP_KERNEL);
	return flows ? 0 : -ENOMEM;
}

void messages_milestone(u64 time)
{
	u32 i;

	for (i = 0; i < count; i++) {
		struct message_flow *flow = flows[i];

		if (flow->ends[0].sock)
			end_look(&flow->ends[0]);
		traffic_counters(time, traffic_flows() + i, flow->ends[1].received,
				 flow->ends[0].counts, &flow->window);
	}
}
