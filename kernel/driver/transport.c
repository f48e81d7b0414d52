// SPDX-License-Identifier: GPL-2.0
/*
 * transport.c - what differs between TCP, TDTCP and MPTCP
 *
 * TDTCP is asked for on a TCP socket. Of its switches the server's end needs the
 * number of TDNs only, for it just says by which TDN its ACKs went; a flow whose
 * segments have no options needs nothing of its server. Whether a listener
 * speaks TDTCP or MPTCP makes no difference to clients that do not ask for it.
 */
#include <linux/sizes.h>
#include <linux/string.h>
#include <net/mptcp.h>
#include <net/tcp.h>
#include <net/tdtcp.h>

#include "transport.h"

bool transport_is_mptcp(const struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_MPTCP;
}

struct sock *transport_path(struct sock *sk, unsigned int n)
{
	if (transport_is_mptcp(sk))
		return mptcp_tdm_subflow(sk, n);
	return n ? NULL : sk;
}

/* ------------------------------------------------- congestion controls -- */

/* Of all paths. */
static int set_congestion_control(struct socket *sock, const char *name)
{
	struct sock *sk = sock->sk;
	int ret;

	if (transport_is_mptcp(sk))
		return sock->ops->setsockopt(sock, SOL_TCP, TCP_CONGESTION,
					     KERNEL_SOCKPTR((char *)name), strlen(name));
	lock_sock(sk);
	ret = tcp_set_congestion_control(sk, name, false, true);
	release_sock(sk);
	return ret;
}

/* A name for each TDN, or one. Returns the next after *position, 0 at the end. */
static const char *next_name(const struct etalon_flow *flow, size_t *position,
			     char name[sizeof(flow->tdn_cc)])
{
	const char *names = flow->tdn_cc[0] ? flow->tdn_cc : flow->cc;
	size_t length = strcspn(names + *position, ",");

	if (!length)
		return NULL;
	memcpy(name, names + *position, length);
	name[length] = 0;
	*position += length + (names[*position + length] == ',');
	return name;
}

const char *transport_lacks(const struct etalon_flow *flow, char name[64])
{
	size_t position = 0;
	bool ecn;

	while (next_name(flow, &position, name))
		if (tcp_ca_get_key_by_name(&init_net, name, &ecn) == TCP_CA_UNSPEC)
			return name;
	return NULL;
}

/*
 * That of a flow's receiver: the first of its congestion controls that needs
 * ECN, for then the receiver must say what it sees of it.
 */
static bool receiver_cc(const struct etalon_flow *flow, char name[sizeof(flow->tdn_cc)])
{
	bool needs_ecn = false;
	size_t position = 0;

	while (!needs_ecn && next_name(flow, &position, name))
		tcp_ca_get_key_by_name(&init_net, name, &needs_ecn);
	if (!needs_ecn) {
		position = 0;
		next_name(flow, &position, name);
	}
	return needs_ecn;
}

/* ------------------------------------------------------------- sockets -- */

static int set_tdtcp(struct sock *sk, u32 value, const char *names)
{
	char list[sizeof_field(struct etalon_flow, tdn_cc)];
	int ret;

	lock_sock(sk);
	ret = tdtcp_set(sk, value);
	if (!ret && names[0]) {
		strscpy(list, names, sizeof(list));
		ret = tdtcp_set_cc(sk, list, true);
	}
	release_sock(sk);
	return ret;
}

/* Of the n-th path of a flow's client. */
__be16 transport_port(u32 index, unsigned int n)
{
	if (!n)
		return htons(ETALON_CLIENT_PORT + index);
	return htons(ETALON_SUBFLOW_PORT + (n - 1) * ETALON_MOST_MPTCP + index);
}

static int set_subflows(struct sock *sk, const struct etalon_flow *flow, u32 index)
{
	__be16 ports[ETALON_PATHS];
	u8 flags = 0;
	u32 n;

	if (flow->subflows > ETALON_PATHS)
		return -ERANGE;
	for (n = 0; n < flow->subflows; n++)
		ports[n] = transport_port(index, n);
	if (flow->mptcp & ETALON_MPTCP_TDM)
		flags |= MPTCP_TDM_SCHEDULE;
	if (flow->mptcp & ETALON_MPTCP_REINJECT)
		flags |= MPTCP_TDM_REINJECT;
	return mptcp_tdm_set(sk, flags, flow->subflows, ports);
}

int transport_client(const struct etalon_flow *flow, u32 index, struct socket **sock)
{
	bool mptcp = flow->transport == ETALON_TRANSPORT_MPTCP;
	int ret;

	ret = sock_create_kern(etalon_host_net(flow->src), AF_INET, SOCK_STREAM,
			       mptcp ? IPPROTO_MPTCP : IPPROTO_TCP, sock);
	if (!ret)
		ret = set_congestion_control(*sock, flow->cc);
	if (!ret && flow->tdtcp)
		ret = set_tdtcp((*sock)->sk, flow->tdtcp, flow->tdn_cc);
	if (!ret && mptcp)
		ret = set_subflows((*sock)->sk, flow, index);
	return ret;
}

int transport_adopt(struct socket *sock, const struct etalon_flow *flow)
{
	bool mptcp = transport_is_mptcp(sock->sk);
	char cc[sizeof(flow->tdn_cc)];

	receiver_cc(flow, cc);
	if (mptcp && flow->mptcp & ETALON_MPTCP_PINNED)
		mptcp_tdm_set(sock->sk, MPTCP_TDM_PIN_ACKS, 0, NULL);
	if (!mptcp && !strcmp(inet_csk(sock->sk)->icsk_ca_ops->name, cc))
		return 0;
	return set_congestion_control(sock, cc);
}

/* What a listener must know of all of its flows. */
struct wishes {
	char cc[sizeof_field(struct etalon_flow, tdn_cc)];
	bool needs_ecn, mptcp;
	u32 tdns;		/* 0: no TDTCP */
};

static void add_wish(struct wishes *wishes, const struct etalon_flow *flow)
{
	char cc[sizeof(wishes->cc)];

	if (!wishes->needs_ecn) {
		wishes->needs_ecn = receiver_cc(flow, cc);
		if (wishes->needs_ecn || !wishes->cc[0])
			strscpy(wishes->cc, cc, sizeof(wishes->cc));
	}
	wishes->mptcp |= flow->transport == ETALON_TRANSPORT_MPTCP;
	if (flow->tdtcp && !(flow->tdtcp & TCP_TDTCP_NO_OPTIONS))
		wishes->tdns = flow->tdtcp & 0xff;
}

/*
 * One port has one listener, whatever the congestion control of its flows. That
 * of the listener decides about ECN in the handshake: DCTCP negotiates it when
 * asked with an ECT SYN, as only DCTCP does, and treats all others as usual. So
 * a listener takes the first of its flows' congestion controls that needs ECN.
 */
int transport_listener(struct net *net, const struct etalon_flow *next(u32 host, u32 *index),
		       u32 host, struct socket **sock)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(ETALON_SERVER_PORT),
	};
	const struct etalon_flow *flow;
	struct wishes wishes = {};
	u32 index = 0;
	int ret;

	while ((flow = next(host, &index)))
		add_wish(&wishes, flow);
	ret = sock_create_kern(net, AF_INET, SOCK_STREAM,
			       wishes.mptcp ? IPPROTO_MPTCP : IPPROTO_TCP, sock);
	if (!ret)
		ret = set_congestion_control(*sock, wishes.cc);
	if (!ret)
		ret = kernel_bind(*sock, (struct sockaddr *)&address, sizeof(address));
	if (!ret && wishes.tdns)
		ret = set_tdtcp(transport_path((*sock)->sk, 0), wishes.tdns, "");
	return ret;
}

/* ------------------------------------------------- reading and writing -- */

u64 transport_unsent(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (transport_is_mptcp(sk))
		return mptcp_tdm_unsent(sk);
	return tp->write_seq - tp->snd_nxt;
}

static int count_bytes(read_descriptor_t *desc, struct sk_buff *skb,
		       unsigned int offset, size_t len)
{
	*(u64 *)desc->arg.data += len;
	return len;
}

u64 transport_read(struct socket *sock, bool *ends)
{
	read_descriptor_t desc = { .count = 1 };
	struct sock *sk = sock->sk;
	u64 bytes = 0;
	int got;

	desc.arg.data = &bytes;
	if (!transport_is_mptcp(sk)) {
		lock_sock(sk);
		tcp_read_sock(sk, &desc, count_bytes);
		*ends = sk->sk_state != TCP_ESTABLISHED;
		release_sock(sk);
		return bytes;
	}
	/* All that comes before the end is there when it has come. */
	*ends = inet_sk_state_load(sk) != TCP_ESTABLISHED;
	do {
		struct kvec room = { .iov_len = SZ_16M };
		struct msghdr message = {};

		got = kernel_recvmsg(sock, &message, &room, 1, room.iov_len,
				     MSG_DONTWAIT | MSG_TRUNC);
		bytes += max(got, 0);
	} while (got > 0);
	return bytes;
}
