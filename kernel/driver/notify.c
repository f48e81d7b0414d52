// SPDX-License-Identifier: GPL-2.0
/*
 * notify.c - what a ToR switch tells its hosts: which network leads to a rack
 *
 * An ICMP message as SIGCOMM 2022 (figure 5a) has it, which the host's stack
 * takes apart: patch 0030, docs/tdtcp-kernel.md.
 */
#include <linux/etherdevice.h>
#include <linux/icmp.h>
#include <linux/ip.h>
#include <linux/skbuff.h>
#include <net/checksum.h>
#include <net/ip.h>

#include "etalon.h"

/* The ToR's address is link-local: the link is that between it and its hosts. */
static __be32 tor_address(u32 rack)
{
	return htonl(169 << 24 | 254 << 16 | rack);
}

/* A packet for a host, which the core delivers; 0 without memory. */
u64 etalon_notification(u32 host, u32 rack, u32 tdn)
{
	const unsigned int length = sizeof(struct iphdr) + sizeof(struct icmphdr);
	struct sk_buff *skb = alloc_skb(ETH_HLEN + length, GFP_ATOMIC);
	struct icmphdr *icmp;
	struct ethhdr *eth;
	struct iphdr *ip;

	if (!skb)
		return 0;
	eth = skb_put_zero(skb, ETH_HLEN);
	eth->h_proto = htons(ETH_P_IP);
	skb->protocol = eth->h_proto;
	skb_set_network_header(skb, skb->len);
	ip = skb_put_zero(skb, sizeof(*ip));
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tot_len = htons(length);
	ip->frag_off = htons(IP_DF);
	ip->ttl = 64;
	ip->protocol = IPPROTO_ICMP;
	ip->saddr = tor_address(host / etalon_info()->hosts);
	ip->daddr = etalon_address(host);
	ip_send_check(ip);
	icmp = skb_put_zero(skb, sizeof(*icmp));
	icmp->type = ICMP_TDN;
	icmp->un.gateway = htonl(tdn << 24 | rack);
	icmp->checksum = ip_compute_csum(icmp, sizeof(*icmp));
	return (unsigned long)skb;
}
