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
#include <net/tdtcp.h>

#include "etalon.h"
#include "meter.h"
#include "traffic.h"
#include "transport.h"

enum client_state { WAITING, CONNECTING, SENDING, CLOSING, CLOSED };

struct flow {
	u32 index;
	struct etalon_flow plan;
	enum client_state state;
	struct socket *client;
	struct socket *server;
	u64 written;
	u64 received;			/* by the server's application */
	bool connect, start, stop, downgrade;	/* their times have come */
	bool started;			/* and the start has been told */
	bool over;			/* all was received, or it was killed */
	struct meter_counts counts[ETALON_PATHS];	/* of the client's paths */
	struct traffic_window window;
	struct hrtimer timer;		/* to connect, to start, to stop... */
	u64 due;			/* and what it is set to */
	struct wait_queue_entry wait;	/* of an MPTCP client */
	struct kthread_work client_work;
	struct kthread_work server_work;
};

static struct flow *flows;
static u32 flow_count;
static u32 unfinished;			/* flows that are not over */
struct kthread_worker *traffic_worker;
struct page *traffic_block;

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

static void server_wake(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;

	if (flow)
		kthread_queue_work(traffic_worker, &flow->server_work);
}

/* Reads what there is, then closes if the client has closed or is gone. */
static void server_run(struct kthread_work *work)
{
	struct flow *flow = container_of(work, struct flow, server_work);
	bool done = flow->received >= flow->plan.bytes;
	struct socket *sock = flow->server;
	bool ends;

	if (!sock)
		return;
	flow->received += transport_read(sock, &ends);
	if (!done && flow->received >= flow->plan.bytes) {
		log_event(ETALON_RECORD_DONE, flow->index, flow->received);
		flow_over(flow);
	}
	if (ends) {
		lock_sock(sock->sk);
		sock->sk->sk_user_data = NULL;
		release_sock(sock->sk);
		flow->server = NULL;
		sock_release(sock);
	}
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

void traffic_adopt(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct flow *flow = server_flow(sk);
	int ret;

	if (!flow || flow->server) {
		sock_release(sock);
		return;
	}
	flow->server = sock;
	ret = transport_adopt(sock, &flow->plan);
	if (ret)
		etalon_log_failure("flow %u: host %u cannot accept it with %s: error %d",
				   flow->index, flow->plan.dst, flow->plan.cc, -ret);
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = flow;
	sk->sk_data_ready = server_wake;
	sk->sk_state_change = server_wake;
	write_unlock_bh(&sk->sk_callback_lock);
	server_wake(sk);
	release_sock(sk);
}

/* ------------------------------------------------------------- clients -- */

static struct flow *client_flow(struct sock *sk)
{
	struct meter_counts *counts = sk->sk_user_data;

	return counts ? container_of(counts, struct flow, counts[0]) : NULL;
}

static void client_ask(struct flow *flow)
{
	kthread_queue_work(traffic_worker, &flow->client_work);
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
	if (sk->sk_state == TCP_ESTABLISHED && meter_attach(sk, flow->counts))
		etalon_log_failure("flow %u: no memory to count its events", flow->index);
	client_ask(flow);
}

/* As both of the above: MPTCP does not ask for a socket's own functions. */
static int client_woken(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	client_ask(container_of(wait, struct flow, wait));
	return 0;
}

int traffic_follow(struct sock *sk, struct meter_counts counts[ETALON_PATHS])
{
	unsigned int n;
	int ret = 0;

	lock_sock(sk);
	for (n = 0; n < ETALON_PATHS && !ret; n++) {
		struct sock *path = transport_path(sk, n);

		if (!path || path->sk_user_data)
			continue;
		lock_sock(path);
		ret = meter_attach(path, &counts[n]);
		if (etalon_info()->pacing)
			path->sk_pacing_status = SK_PACING_NEEDED;
		release_sock(path);
	}
	release_sock(sk);
	return ret;
}

static void traffic_look(const struct sock *sk, struct traffic_window *window)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	window->cwnd = tcp_snd_cwnd(tp);
	window->ssthresh = tp->snd_ssthresh;
	window->srtt_us = tp->srtt_us >> 3;
}

void traffic_snapshot(struct sock *sk, struct traffic_window *window)
{
	unsigned int n;

	for (n = 0; n < ETALON_PATHS; n++) {
		struct sock *path = transport_path(sk, n);

		if (!path)
			continue;
		meter_settle(path);
		if (!n && window)
			traffic_look(path, window);
	}
}

void traffic_leave(struct sock *sk)
{
	unsigned int n;

	for (n = 0; n < ETALON_PATHS; n++) {
		struct sock *path = transport_path(sk, n);

		if (path)
			meter_detach(path);
	}
}

static void client_release(struct flow *flow, bool reset)
{
	struct sock *sk = flow->client->sk;

	flow->state = CLOSED;
	lock_sock(sk);
	traffic_snapshot(sk, &flow->window);
	traffic_leave(sk);
	release_sock(sk);
	if (transport_is_mptcp(sk))
		remove_wait_queue(sk_sleep(sk), &flow->wait);
	if (reset)
		sock_no_linger(sk);
	sock_release(flow->client);
	flow->client = NULL;
}

/* Has the client's work done when something happens to its socket. */
static int client_listen(struct flow *flow)
{
	struct sock *sk = flow->client->sk;
	int ret;

	if (transport_is_mptcp(sk)) {
		init_waitqueue_func_entry(&flow->wait, client_woken);
		add_wait_queue(sk_sleep(sk), &flow->wait);
		return 0;
	}
	lock_sock(sk);
	ret = meter_attach(sk, flow->counts);
	if (etalon_info()->pacing)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_write_space = client_write_space;
	sk->sk_state_change = client_state_change;
	release_sock(sk);
	return ret;
}

static int client_open(struct flow *flow)
{
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_port = transport_port(flow->index, 0),
	};
	struct sockaddr_in remote = {
		.sin_family = AF_INET,
		.sin_port = htons(ETALON_SERVER_PORT),
		.sin_addr.s_addr = etalon_address(flow->plan.dst),
	};
	int ret;

	ret = transport_client(&flow->plan, flow->index, &flow->client);
	if (!flow->client)
		return ret;
	if (!ret)
		ret = client_listen(flow);
	if (!ret)
		ret = kernel_bind(flow->client, (struct sockaddr *)&local,
				  sizeof(local));
	if (!ret)
		ret = kernel_connect(flow->client, (struct sockaddr *)&remote,
				     sizeof(remote), O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

/* Its end is one of plain TCP from now on. */
static void client_downgrade(struct flow *flow)
{
	struct sock *sk = flow->client->sk;

	flow->downgrade = false;
	lock_sock(sk);
	tdtcp_set(sk, 0);
	release_sock(sk);
}

/* Writes until the send buffer is full. Returns whether all is written. */
static bool client_write(struct flow *flow)
{
	while (flow->written < flow->plan.bytes) {
		size_t size = min_t(u64, TRAFFIC_BLOCK, flow->plan.bytes - flow->written);
		int sent = kernel_sendpage(flow->client, traffic_block, 0, size, MSG_DONTWAIT);

		if (sent <= 0)
			return false;
		flow->written += sent;
	}
	return true;
}

/* What was written is announced, as libadu announces what programs write. */
static void client_send(struct flow *flow)
{
	u64 before = flow->written;
	bool whole = client_write(flow);
	if (flow->written > before)
		etalon_flow_accepted(2 * flow->index, flow->written - before);
	if (!whole)
		return;
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
		if (!flow->client)
			return;
		if (flow->client->sk->sk_state == TCP_ESTABLISHED)
			flow->state = SENDING;
		fallthrough;
	case SENDING:
	case CLOSING:
		if (flow->downgrade)
			client_downgrade(flow);
		if (flow->plan.subflows && traffic_follow(flow->client->sk, flow->counts))
			etalon_log_failure("flow %u: no memory to count its events", flow->index);
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
	const struct etalon_flow *plan = &flow->plan;
	const u64 times[] = { plan->connect, plan->start, plan->stop, plan->downgrade };
	bool *const has_come[] = { &flow->connect, &flow->start, &flow->stop, &flow->downgrade };
	u64 next = U64_MAX;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		if (times[i] == flow->due)
			*has_come[i] = true;
		else if (times[i] > flow->due)
			next = min(next, times[i]);
	}
	client_ask(flow);
	if (next == U64_MAX)
		return HRTIMER_NORESTART;
	flow->due = next;
	hrtimer_set_expires(timer, etalon_clock(next));
	return HRTIMER_RESTART;
}

/* --------------------------------------------------------------- the run -- */

static int find_congestion_controls(void)
{
	char name[sizeof_field(struct etalon_flow, tdn_cc)];
	const char *lacks = NULL;
	char *available;
	u32 i;

	for (i = 0; i < flow_count && !lacks; i++)
		lacks = transport_lacks(&flows[i].plan, name);
	if (!lacks)
		return 0;
	available = kzalloc(TCP_CA_BUF_MAX, GFP_KERNEL);
	if (available)
		tcp_get_available_congestion_control(available, TCP_CA_BUF_MAX);
	etalon_log_failure("flow %u: the kernel has no congestion control '%s'; it has %s",
			   i - 1, lacks, available ?: "others");
	kfree(available);
	return -ENOENT;
}

static void flow_init(struct flow *flow, u32 index)
{
	unsigned int n;

	flow->index = index;
	etalon_flow(index, &flow->plan);
	kthread_init_work(&flow->client_work, client_run);
	kthread_init_work(&flow->server_work, server_run);
	hrtimer_init(&flow->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	flow->due = flow->plan.connect;
	flow->timer.function = flow_timer;
	for (n = 0; n < ETALON_PATHS; n++)
		flow->counts[n].sender = (struct sender) {
			.flow = index,
			.path = n,
			.followed = flow->plan.followed,
		};
}

u32 traffic_flows(void)
{
	return flow_count;
}

const struct etalon_flow *traffic_plan(u32 index)
{
	return &flows[index].plan;
}

static int make_flows(void)
{
	u32 i;

	flows = kvcalloc(flow_count, sizeof(*flows), GFP_KERNEL);
	traffic_block = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP,
				    get_order(TRAFFIC_BLOCK));
	traffic_worker = kthread_create_worker(0, "etalon-traffic");
	if ((flow_count && !flows) || !traffic_block || IS_ERR(traffic_worker)) {
		etalon_log_failure("the kernel has no memory for %u flows", flow_count);
		return -ENOMEM;
	}
	for (i = 0; i < flow_count; i++)
		flow_init(&flows[i], i);
	return find_congestion_controls();
}

int etalon_traffic_start(void)
{
	u32 i;
	int ret;

	flow_count = etalon_info()->flows;
	unfinished = flow_count;
	if (!flow_count && !etalon_info()->kinds)
		return 0;
	ret = make_flows();
	if (!ret)
		ret = messages_start();
	if (!ret)
		ret = listeners_start();
	if (ret)
		return ret;
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

void traffic_counters(u64 time, u32 index, u64 received,
		      const struct meter_counts counts[ETALON_PATHS],
		      const struct traffic_window *window)
{
	struct meter_counts sum = {};
	unsigned int n;
	struct etalon_record record = {
		.time = time,
		.kind = ETALON_RECORD_COUNTER,
		.c = index,
	};

	for (n = 0; n < ETALON_PATHS; n++)
		meter_add(&sum, &counts[n]);
	log_counter(&record, ETALON_COUNT_RECEIVED, received);
	log_counter(&record, ETALON_COUNT_RETRANSMITS, sum.retransmits);
	log_counter(&record, ETALON_COUNT_RTOS, sum.rtos);
	log_counter(&record, ETALON_COUNT_TLPS, sum.tlps);
	log_counter(&record, ETALON_COUNT_RECOVERIES, sum.recoveries);
	log_counter(&record, ETALON_COUNT_UNDOS, sum.undos);
	log_counter(&record, ETALON_COUNT_CWND, window->cwnd);
	log_counter(&record, ETALON_COUNT_SSTHRESH, window->ssthresh);
	log_counter(&record, ETALON_COUNT_SRTT, window->srtt_us);
}

void etalon_traffic_milestone(u64 time, int which)
{
	u32 i;

	for (i = 0; i < flow_count; i++) {
		struct flow *flow = &flows[i];

		if (flow->client)
			traffic_snapshot(flow->client->sk, &flow->window);
		traffic_counters(time, i, flow->received, flow->counts, &flow->window);
	}
	messages_milestone(time);
}
