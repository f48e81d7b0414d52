// SPDX-License-Identifier: GPL-2.0
/*
 * The control network: a second device of every host, on which programs report
 * to the estimator of demand. It takes no part in the data network. What a
 * host sends to the estimator is the core's at once, which counts the control
 * network's delay itself; all else has nowhere to go.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "etalon.h"

/* The reports in a datagram to the estimator; 0 bytes if it is none. */
static size_t read_datagram(const struct sk_buff *skb, u8 *to, size_t room)
{
	int offset = skb_network_offset(skb);
	const struct udphdr *udp;
	const struct iphdr *ip;
	struct udphdr udp_room;
	struct iphdr ip_room;
	size_t len;

	if (skb->protocol != htons(ETH_P_IP))
		return 0;
	ip = skb_header_pointer(skb, offset, sizeof(ip_room), &ip_room);
	if (!ip || ip->protocol != IPPROTO_UDP ||
	    ip->daddr != htonl(ETALON_ESTIMATOR) ||
	    ip->frag_off & htons(IP_MF | IP_OFFSET))
		return 0;
	offset += ip->ihl * 4;
	udp = skb_header_pointer(skb, offset, sizeof(udp_room), &udp_room);
	if (!udp || udp->dest != htons(ETALON_ESTIMATOR_PORT))
		return 0;
	offset += sizeof(*udp);
	len = min_t(size_t, skb->len - offset, room);
	return skb_copy_bits(skb, offset, to, len) ? 0 : len;
}

static netdev_tx_t control_xmit(struct sk_buff *skb, struct net_device *dev)
{
	static u8 datagram[ETH_DATA_LEN];
	unsigned long flags;
	size_t len;

	local_irq_save(flags);
	len = read_datagram(skb, datagram, sizeof(datagram));
	if (len)
		etalon_report(datagram, len);
	local_irq_restore(flags);
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += skb->len;
	dev_consume_skb_any(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops control_ops = {
	.ndo_start_xmit = control_xmit,
};

static void control_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &control_ops;
	dev->needs_free_netdev = true;
	dev->flags |= IFF_NOARP;
	dev->priv_flags |= IFF_NO_QUEUE;
}

int etalon_control_create(struct net *net)
{
	struct net_device *dev;
	int ret;

	/* Without a setup there is no core that could hear a report. */
	if (!etalon_info()->hosts)
		return -ENODEV;
	dev = alloc_netdev(0, "ctl0", NET_NAME_PREDICTABLE, control_setup);
	if (!dev)
		return -ENOMEM;
	dev_net_set(dev, net);
	ret = register_netdev(dev);
	if (ret)
		free_netdev(dev);
	return ret;
}
