// SPDX-License-Identifier: GPL-2.0
/*
 * listeners.c - a socket for each host to which flows come
 *
 * Flows that are opened from outside may come to any host.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "traffic.h"
#include "transport.h"

/* Connections that wait to be accepted, where nobody knows how many will come. */
#define BACKLOG		1024

struct listener {
	struct socket *sock;
	struct kthread_work work;
};

static struct listener *listeners;	/* by host; without sock: no flow comes here */
static struct etalon_flow *kinds;	/* of flows that are opened from outside */

static void listener_run(struct kthread_work *work)
{
	struct listener *listener = container_of(work, struct listener, work);
	struct socket *sock;

	while (!kernel_accept(listener->sock, &sock, O_NONBLOCK)) {
		u32 index = ntohs(inet_sk(sock->sk)->inet_dport) - ETALON_CLIENT_PORT;

		if (etalon_info()->kinds && index >= traffic_flows())
			messages_adopt(sock, index);
		else
			traffic_adopt(sock);
	}
}

/* Connections inherit this, so it may be called for one before it is accepted. */
static void listener_data_ready(struct sock *sk)
{
	struct listener *listener = sk->sk_user_data;

	if (sk->sk_state == TCP_LISTEN && listener)
		kthread_queue_work(traffic_worker, &listener->work);
}

/* The next flow to a host, of those from *index on, and what may come to all. */
static const struct etalon_flow *next_flow_to(u32 host, u32 *index)
{
	u32 flows = traffic_flows();

	while (*index < flows) {
		const struct etalon_flow *plan = traffic_plan((*index)++);

		if (plan->dst == host)
			return plan;
	}
	if (*index - flows < etalon_info()->kinds)
		return &kinds[(*index)++ - flows];
	return NULL;
}

static int listener_open(struct listener *listener, u32 host)
{
	u32 index = 0, count = 0;
	int ret;

	while (next_flow_to(host, &index))
		count++;
	if (!count)
		return 0;
	kthread_init_work(&listener->work, listener_run);
	ret = transport_listener(etalon_host_net(host), next_flow_to, host, &listener->sock);
	if (!ret) {
		listener->sock->sk->sk_user_data = listener;
		listener->sock->sk->sk_data_ready = listener_data_ready;
		ret = kernel_listen(listener->sock, count + (kinds ? BACKLOG : 0));
	}
	return ret;
}

/* What flows have in common that are opened from outside. */
static int find_kinds(void)
{
	char name[sizeof_field(struct etalon_flow, tdn_cc)];
	const char *lacks = NULL;
	u32 i;

	if (!etalon_info()->kinds)
		return 0;
	kinds = kcalloc(etalon_info()->kinds, sizeof(*kinds), GFP_KERNEL);
	if (!kinds)
		return -ENOMEM;
	for (i = 0; i < etalon_info()->kinds && !lacks; i++) {
		etalon_kind(i, &kinds[i]);
		lacks = transport_lacks(&kinds[i], name);
	}
	if (!lacks)
		return 0;
	etalon_log_failure("the kernel has no congestion control '%s'", lacks);
	return -ENOENT;
}

int listeners_start(void)
{
	u32 host, host_count = etalon_info()->racks * etalon_info()->hosts;
	int ret = find_kinds();

	listeners = kvcalloc(host_count, sizeof(*listeners), GFP_KERNEL);
	if (!listeners)
		return -ENOMEM;
	for (host = 0; !ret && host < host_count; host++) {
		ret = listener_open(&listeners[host], host);
		if (ret)
			etalon_log_failure("host %u cannot listen on port %u: error %d",
					   host, ETALON_SERVER_PORT, -ret);
	}
	return ret;
}
