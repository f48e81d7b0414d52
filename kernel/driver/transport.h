/* SPDX-License-Identifier: GPL-2.0 */
/*
 * transport.h - what differs between TCP, TDTCP and MPTCP
 *
 * A flow's socket is one of TCP, or one of MPTCP over several of TCP: its
 * paths. An MPTCP client that finds a server without it has one of MPTCP with
 * one path; a server that finds a client without it has one of TCP.
 */
#ifndef ETALON_TRANSPORT_H
#define ETALON_TRANSPORT_H

#include <linux/net.h>
#include <linux/types.h>

#include "etalon.h"

struct net;
struct sock;

/* The port of the n-th path of a flow's client, in network byte order. */
__be16 transport_port(u32 index, unsigned int n);
/* A socket for the client of a flow, unbound. 0 or an error. */
int transport_client(const struct etalon_flow *flow, u32 index, struct socket **sock);
/*
 * A bound socket that can listen for all flows to a host, of which there is one
 * at least: `next` gives them one after the other, NULL at the end. 0 or an
 * error.
 */
int transport_listener(struct net *net, const struct etalon_flow *next(u32 host, u32 *index),
		       u32 host, struct socket **sock);
/* Makes an accepted socket the server of a flow. 0 or an error. */
int transport_adopt(struct socket *sock, const struct etalon_flow *flow);

bool transport_is_mptcp(const struct sock *sk);
/* A socket's n-th path, or NULL. The socket must be locked, or the machine idle. */
struct sock *transport_path(struct sock *sk, unsigned int n);
/*
 * Reads what there is and returns how many bytes that were; *ends if the other
 * end has closed, or is gone, and nothing more comes.
 */
u64 transport_read(struct socket *sock, bool *ends);
/* How many bytes were written that TCP has not sent. The socket must be locked. */
u64 transport_unsent(struct sock *sk);
/* The first congestion control of a flow that the kernel lacks, or NULL. */
const char *transport_lacks(const struct etalon_flow *flow, char name[64]);

#endif
