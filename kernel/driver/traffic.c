// SPDX-License-Identifier: GPL-2.0
/*
 * traffic.c - the plan's TCP flows
 *
 * Each flow is an ordinary pair of TCP sockets: the client on the flow's source
 * host connects to port 5001 of the destination host, at the flow's start or
 * before. From the start on it writes its bytes (or for ever) in blocks of 128
 * KiB, and closes; the server reads what arrives and closes in turn. Nothing of
 * TCP is bypassed; what is spared is the cost of programs. One kernel thread
 * serves all sockets without blocking, as a program with an event loop does; its
 * work takes no virtual time. What it writes are the same zero pages again and
 * again, by reference; what it reads it does not copy.
 *
 * Data could be read without a thread, in the softirq that brought it. That
 * would be cheaper, but such a reader comes before TCP's decision to acknowledge
 * instead of after it, and ACKs advertise other windows: see kernel/README.md.
 */

#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "etalon.h"
#include "meter.h"

#define BLOCK_BYTES	((size_t)SZ_128K)

enum client_state { WAITING, CONNECTING, SENDING, CLOSING, CLOSED };

struct flow {
	u32 index;
	struct etalon_flow plan;
	enum client_state state;
	struct socket *client;
	struct socket *server;
	u64 written;
	u64 received;			/* by the server's application */
	bool connect, start, stop;	/* their times have come */
	bool started;			/* and the start has been told */
	bool over;			/* all was received, or it was killed */
	struct meter_counts counts;	/* of the client */
	u32 retransmits, cwnd, ssthresh, srtt_us;
	struct hrtimer timer;		/* to connect, to start, to stop */
	struct kthread_work client_work;
	struct kthread_work server_work;
};

struct listener {
	struct socket *sock;
	struct kthread_work work;
};

static struct flow *flows;
static u32 flow_count;
static u32 unfinished;			/* flows that are not over */
static struct listener *listeners;	/* by host; without sock: no flow comes here */
static struct kthread_worker *worker;
static struct page *block;

static void log_event(u8 kind, u32 index, u64 bytes)
{
	struct etalon_record record = {
		.time = etalon_now(),
		.kind = kind,
		.c = index,
		.e = bytes,
	};

	etalon_log(&record);
}

static void flow_over(struct flow *flow)
{
	if (flow->over)
		return;
	flow->over = true;
	if (!--unfinished)
		etalon_flows_over();
}

/* ------------------------------------------------------------- servers -- */

static int count_bytes(read_descriptor_t *desc, struct sk_buff *skb,
		       unsigned int offset, size_t len)
{
	struct flow *flow = desc->arg.data;

	flow->received += len;
	return len;
}

static void server_wake(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;

	if (flow)
		kthread_queue_work(worker, &flow->server_work);
}

/* Reads what there is, then closes if the client has closed or is gone. */
static void server_run(struct kthread_work *work)
{
	struct flow *flow = container_of(work, struct flow, server_work);
	read_descriptor_t desc = { .arg.data = flow, .count = 1 };
	bool done = flow->received >= flow->plan.bytes;
	struct socket *sock = flow->server;
	struct sock *sk;
	bool ends;

	if (!sock)
		return;
	sk = sock->sk;
	lock_sock(sk);
	tcp_read_sock(sk, &desc, count_bytes);
	ends = sk->sk_state != TCP_ESTABLISHED;
	if (ends)
		sk->sk_user_data = NULL;
	release_sock(sk);
	if (!done && flow->received >= flow->plan.bytes) {
		log_event(ETALON_RECORD_DONE, flow->index, flow->received);
		flow_over(flow);
	}
	if (ends) {
		flow->server = NULL;
		sock_release(sock);
	}
}

static int set_congestion_control(struct socket *sock, const char *name)
{
	int ret;

	lock_sock(sock->sk);
	ret = tcp_set_congestion_control(sock->sk, name, false, true);
	release_sock(sock->sk);
	return ret;
}

/* The flow whose client this connection comes from; a program's has none. */
static struct flow *server_flow(const struct sock *sk)
{
	u32 index = ntohs(inet_sk(sk)->inet_dport) - ETALON_CLIENT_PORT;

	if (index >= flow_count ||
	    inet_sk(sk)->inet_daddr != etalon_address(flows[index].plan.src) ||
	    inet_sk(sk)->inet_rcv_saddr != etalon_address(flows[index].plan.dst))
		return NULL;
	return &flows[index];
}

static void server_adopt(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct flow *flow = server_flow(sk);
	int ret;

	if (!flow || flow->server) {
		sock_release(sock);
		return;
	}
	flow->server = sock;
	if (strcmp(inet_csk(sk)->icsk_ca_ops->name, flow->plan.cc)) {
		ret = set_congestion_control(sock, flow->plan.cc);
		if (ret)
			etalon_log_failure("flow %u: host %u cannot accept it with %s: error %d",
					   flow->index, flow->plan.dst, flow->plan.cc, -ret);
	}
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = flow;
	sk->sk_data_ready = server_wake;
	sk->sk_state_change = server_wake;
	write_unlock_bh(&sk->sk_callback_lock);
	server_wake(sk);
	release_sock(sk);
}

static void listener_run(struct kthread_work *work)
{
	struct listener *listener = container_of(work, struct listener, work);
	struct socket *sock;

	while (!kernel_accept(listener->sock, &sock, O_NONBLOCK))
		server_adopt(sock);
}

/* Connections inherit this, so it may be called for one before it is accepted. */
static void listener_data_ready(struct sock *sk)
{
	struct listener *listener = sk->sk_user_data;

	if (sk->sk_state == TCP_LISTEN && listener)
		kthread_queue_work(worker, &listener->work);
}

/*
 * One port has one listener, whatever the congestion control of its flows. That
 * of the listener decides about ECN in the handshake: DCTCP negotiates it when
 * asked with an ECT SYN, as only DCTCP does, and treats all others as usual. So
 * a listener takes the first of its flows' congestion controls that needs ECN.
 */
static int listener_open(struct listener *listener, u32 host)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(ETALON_SERVER_PORT),
	};
	struct net *net = etalon_host_net(host);
	const char *cc = NULL;
	bool needs_ecn = false;
	u32 i, count = 0;
	int ret;

	for (i = 0; i < flow_count; i++) {
		if (flows[i].plan.dst != host)
			continue;
		count++;
		if (!needs_ecn) {
			tcp_ca_get_key_by_name(net, flows[i].plan.cc, &needs_ecn);
			if (needs_ecn || !cc)
				cc = flows[i].plan.cc;
		}
	}
	if (!count)
		return 0;
	kthread_init_work(&listener->work, listener_run);
	ret = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
			       &listener->sock);
	if (!ret)
		ret = set_congestion_control(listener->sock, cc);
	if (!ret)
		ret = kernel_bind(listener->sock, (struct sockaddr *)&address,
				  sizeof(address));
	if (!ret) {
		listener->sock->sk->sk_user_data = listener;
		listener->sock->sk->sk_data_ready = listener_data_ready;
		ret = kernel_listen(listener->sock, count);
	}
	return ret;
}

/* ------------------------------------------------------------- clients -- */

static struct flow *client_flow(struct sock *sk)
{
	struct meter_counts *counts = sk->sk_user_data;

	return counts ? container_of(counts, struct flow, counts) : NULL;
}

static void client_ask(struct flow *flow)
{
	kthread_queue_work(worker, &flow->client_work);
}

/* As sk_stream_write_space(): once a third of the send buffer is free. */
static void client_write_space(struct sock *sk)
{
	struct flow *flow = client_flow(sk);

	if (!flow || !sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	client_ask(flow);
}

static void client_state_change(struct sock *sk)
{
	struct flow *flow = client_flow(sk);

	if (!flow)
		return;
	/* DCTCP without ECN has replaced itself by now. */
	if (sk->sk_state == TCP_ESTABLISHED && meter_attach(sk, &flow->counts))
		etalon_log_failure("flow %u: no memory to count its events", flow->index);
	client_ask(flow);
}

static void client_snapshot(struct flow *flow)
{
	struct sock *sk = flow->client->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	meter_settle(sk);
	flow->retransmits = tp->total_retrans;
	flow->cwnd = tcp_snd_cwnd(tp);
	flow->ssthresh = tp->snd_ssthresh;
	flow->srtt_us = tp->srtt_us >> 3;
}

static void client_release(struct flow *flow, bool reset)
{
	struct sock *sk = flow->client->sk;

	flow->state = CLOSED;
	client_snapshot(flow);
	lock_sock(sk);
	meter_detach(sk);
	release_sock(sk);
	if (reset)
		sock_no_linger(sk);
	sock_release(flow->client);
	flow->client = NULL;
}

static int client_open(struct flow *flow)
{
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_port = htons(ETALON_CLIENT_PORT + flow->index),
	};
	struct sockaddr_in remote = {
		.sin_family = AF_INET,
		.sin_port = htons(ETALON_SERVER_PORT),
		.sin_addr.s_addr = etalon_address(flow->plan.dst),
	};
	struct sock *sk;
	int ret;

	ret = sock_create_kern(etalon_host_net(flow->plan.src), AF_INET,
			       SOCK_STREAM, IPPROTO_TCP, &flow->client);
	if (ret)
		return ret;
	sk = flow->client->sk;
	lock_sock(sk);
	ret = tcp_set_congestion_control(sk, flow->plan.cc, false, true);
	if (!ret)
		ret = meter_attach(sk, &flow->counts);
	if (etalon_info()->pacing)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_write_space = client_write_space;
	sk->sk_state_change = client_state_change;
	release_sock(sk);
	if (!ret)
		ret = kernel_bind(flow->client, (struct sockaddr *)&local,
				  sizeof(local));
	if (!ret)
		ret = kernel_connect(flow->client, (struct sockaddr *)&remote,
				     sizeof(remote), O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

/* Writes until the send buffer is full. */
static void client_send(struct flow *flow)
{
	while (flow->written < flow->plan.bytes) {
		size_t size = min_t(u64, BLOCK_BYTES, flow->plan.bytes - flow->written);
		int sent = kernel_sendpage(flow->client, block, 0, size, MSG_DONTWAIT);

		if (sent <= 0)
			return;
		flow->written += sent;
	}
	flow->state = CLOSING;
	kernel_sock_shutdown(flow->client, SHUT_WR);
}

static void client_run(struct kthread_work *work)
{
	struct flow *flow = container_of(work, struct flow, client_work);
	int ret;

	if (flow->stop && flow->state != CLOSED) {
		if (flow->client) {
			etalon_flow_killed(flow->index);
			client_release(flow, true);
		}
		flow->state = CLOSED;
	}
	if (flow->stop) {
		flow_over(flow);
		return;
	}
	if (flow->start && !flow->started) {
		flow->started = true;
		log_event(ETALON_RECORD_STARTED, flow->index, 0);
		etalon_flow_started(flow->index);
	}
	switch (flow->state) {
	case WAITING:
		flow->state = CONNECTING;
		ret = client_open(flow);
		if (ret)
			etalon_log_failure("flow %u cannot connect from host %u to %u: error %d",
					   flow->index, flow->plan.src, flow->plan.dst, -ret);
		return;
	case CONNECTING:
		if (flow->client->sk->sk_state == TCP_ESTABLISHED)
			flow->state = SENDING;
		fallthrough;
	case SENDING:
	case CLOSING:
		if (flow->client->sk->sk_state == TCP_CLOSE)
			client_release(flow, false);
		else if (flow->state == SENDING && flow->start)
			client_send(flow);
		return;
	case CLOSED:
		return;
	}
}

static enum hrtimer_restart flow_timer(struct hrtimer *timer)
{
	struct flow *flow = container_of(timer, struct flow, timer);
	u64 next = U64_MAX;

	if (!flow->connect && flow->plan.connect < flow->plan.start) {
		flow->connect = true;
		next = flow->plan.start;
	} else if (!flow->start) {
		flow->connect = true;
		flow->start = true;
		next = flow->plan.stop;
	} else {
		flow->stop = true;
	}
	client_ask(flow);
	if (next == U64_MAX)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, etalon_clock(next));
	return HRTIMER_RESTART;
}

/* --------------------------------------------------------------- the run -- */

static int find_congestion_controls(void)
{
	char *available;
	bool ecn;
	u32 i;

	for (i = 0; i < flow_count; i++)
		if (tcp_ca_get_key_by_name(&init_net, flows[i].plan.cc, &ecn) ==
		    TCP_CA_UNSPEC)
			break;
	if (i == flow_count)
		return 0;
	available = kzalloc(TCP_CA_BUF_MAX, GFP_KERNEL);
	if (available)
		tcp_get_available_congestion_control(available, TCP_CA_BUF_MAX);
	etalon_log_failure("flow %u: the kernel has no congestion control '%s'; it has %s",
			   i, flows[i].plan.cc, available ?: "others");
	kfree(available);
	return -ENOENT;
}

static void flow_init(struct flow *flow, u32 index)
{
	flow->index = index;
	etalon_flow(index, &flow->plan);
	kthread_init_work(&flow->client_work, client_run);
	kthread_init_work(&flow->server_work, server_run);
	hrtimer_init(&flow->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	flow->timer.function = flow_timer;
}

int etalon_traffic_start(void)
{
	u32 host, host_count = etalon_info()->racks * etalon_info()->hosts;
	u32 i;
	int ret;

	flow_count = etalon_info()->flows;
	unfinished = flow_count;
	if (!flow_count)
		return 0;
	flows = kvcalloc(flow_count, sizeof(*flows), GFP_KERNEL);
	listeners = kvcalloc(host_count, sizeof(*listeners), GFP_KERNEL);
	block = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, get_order(BLOCK_BYTES));
	worker = kthread_create_worker(0, "etalon-traffic");
	if (!flows || !listeners || !block || IS_ERR(worker)) {
		etalon_log_failure("the kernel has no memory for %u flows", flow_count);
		return -ENOMEM;
	}
	for (i = 0; i < flow_count; i++) {
		flow_init(&flows[i], i);
		if (flows[i].plan.transport) {
			etalon_log_failure("flow %u: the kernel's flows are TCP only", i);
			return -EPROTONOSUPPORT;
		}
	}
	ret = find_congestion_controls();
	if (ret)
		return ret;
	for (host = 0; host < host_count; host++) {
		ret = listener_open(&listeners[host], host);
		if (ret) {
			etalon_log_failure("host %u cannot listen on port %u: error %d",
					   host, ETALON_SERVER_PORT, -ret);
			return ret;
		}
	}
	for (i = 0; i < flow_count; i++)
		hrtimer_start(&flows[i].timer, etalon_clock(flows[i].plan.connect),
			      HRTIMER_MODE_ABS);
	return 0;
}

static void log_counter(struct etalon_record *record, u8 which, u64 value)
{
	record->a = which;
	record->e = value;
	etalon_log(record);
}

void etalon_traffic_milestone(u64 time, int which)
{
	struct etalon_record record = {
		.time = time,
		.kind = ETALON_RECORD_COUNTER,
	};
	u32 i;

	for (i = 0; i < flow_count; i++) {
		struct flow *flow = &flows[i];

		if (flow->client)
			client_snapshot(flow);
		record.c = i;
		log_counter(&record, ETALON_COUNT_RECEIVED, flow->received);
		log_counter(&record, ETALON_COUNT_RETRANSMITS, flow->retransmits);
		log_counter(&record, ETALON_COUNT_RTOS, flow->counts.rtos);
		log_counter(&record, ETALON_COUNT_TLPS, flow->counts.tlps);
		log_counter(&record, ETALON_COUNT_RECOVERIES, flow->counts.recoveries);
		log_counter(&record, ETALON_COUNT_UNDOS, flow->counts.undos);
		log_counter(&record, ETALON_COUNT_CWND, flow->cwnd);
		log_counter(&record, ETALON_COUNT_SSTHRESH, flow->ssthresh);
		log_counter(&record, ETALON_COUNT_SRTT, flow->srtt_us);
	}
}
