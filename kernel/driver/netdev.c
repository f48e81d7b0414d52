// SPDX-License-Identifier: GPL-2.0
/*
 * The hosts' network devices, and the one timer of the network between them.
 *
 * Packets are known to the Rust core by the addresses of their sk_buffs. A
 * device takes one packet at a time: its queue stops until the packet has left
 * the NIC, so that what waits does so in the host's queueing discipline.
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer_other.h>
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/time-internal.h>
#include <linux/udp.h>
#include <linux/um_programs.h>
#include <net/checksum.h>
#include <net/inet_ecn.h>
#include <net/sch_generic.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <os.h>

#include "etalon.h"

struct host {
	u32 index;
	/* The last datagram that was sent in fragments, whose first has the ports. */
	struct {
		__be32 dst;
		__be16 id, sport, dport;
	} fragmented;
};

static struct etalon_core *core;
static struct etalon_info info;
static u8 *setup;
static size_t setup_len;
static struct net_device **devices;
static u32 host_count;
/* When the core is called next. */
static struct time_travel_event timer;
/* What the timer is set to, or U64_MAX. */
static u64 armed = U64_MAX;
static bool started, finished;
/* The core is at work: it cannot be called. */
static bool busy;

/* What the core calls. */

void __noreturn etalon_panic(const u8 *message, size_t len)
{
	panic("etalon: %.*s", (int)len, message);
}

void etalon_capture(u64 time, u64 handle, u16 snap)
{
	static u8 bytes[ETALON_DATA_MAX];
	struct sk_buff *skb = (void *)handle;
	int offset = skb_network_offset(skb);
	struct etalon_record record = { .time = time, .kind = ETALON_RECORD_BYTES };

	record.b = min3((u32)snap, skb->len - offset, (u32)ETALON_DATA_MAX);
	if (skb_copy_bits(skb, offset, bytes, record.b))
		record.b = 0;
	etalon_log_data(&record, bytes);
}

static void set_ece(struct sk_buff *skb, int offset)
{
	struct tcphdr *tcp = (void *)skb->data + offset;
	__be16 *word = (__be16 *)&tcp_flag_word(tcp);
	__be16 before = *word;

	tcp->ece = 1;
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		inet_proto_csum_replace2(&tcp->check, skb, before, *word, false);
}

void etalon_mark(u64 handle, bool ce, bool ece)
{
	struct sk_buff *skb = (void *)handle;
	int ip = skb_network_offset(skb);
	int tcp = ip + ip_hdrlen(skb);

	if (skb_ensure_writable(skb, ece ? tcp + sizeof(struct tcphdr) : tcp))
		panic("etalon: no memory to mark a packet");
	if (ce)
		INET_ECN_set_ce(skb);
	if (ece)
		set_ece(skb, tcp);
}

void etalon_deliver(u64 handle, u32 host)
{
	struct sk_buff *skb = (void *)handle;
	struct net_device *dev = devices[host];

	if (!dev) {
		dev_kfree_skb_any(skb);
		return;
	}
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += skb->len;
	memset(skb->cb, 0, sizeof(skb->cb));
	skb_scrub_packet(skb, true);
	skb->protocol = eth_type_trans(skb, dev);
	skb->pkt_type = PACKET_HOST;
	__netif_rx(skb);
}

void etalon_discard(u64 handle)
{
	dev_kfree_skb_any((void *)handle);
}

/* Whether a device's queueing discipline certainly has nothing to send. */
static bool nothing_waits(struct net_device *dev)
{
	const struct Qdisc *qdisc = rcu_dereference(netdev_get_tx_queue(dev, 0)->qdisc);

	return qdisc->flags & TCQ_F_NOLOCK && nolock_qdisc_is_empty(qdisc);
}

void etalon_nic_free(u64 handle, u32 host)
{
	struct net_device *dev = devices[host];

	/* As a driver does when its ring says that a packet is out. */
	skb_orphan((void *)handle);
	if (!dev)
		return;
	if (nothing_waits(dev))
		netif_start_queue(dev);
	else
		netif_wake_queue(dev);
}

void etalon_milestone(u64 time, u32 which)
{
	etalon_traffic_milestone(time, which);
	if (which)
		etalon_device_end();
}

void etalon_fail(u64 time, const u8 *sentence, size_t len)
{
	struct etalon_record record = { .time = time, .kind = ETALON_RECORD_FAILURE };

	record.b = min_t(size_t, len, ETALON_DATA_MAX);
	etalon_log_data(&record, sentence);
	etalon_log_flush();
}

/* The timer. */

static void set_timer(u64 now, u64 next)
{
	u64 at = max(next, now + 1);

	armed = next;
	hrtimer_next_other = min_t(u64, at, KTIME_MAX);
	time_travel_del_event(&timer);
	if (at <= KTIME_MAX)
		time_travel_add_event_rel(&timer, at - now);
}

static void timer_expired(struct time_travel_event *unused)
{
	u64 now = ktime_get_ns();

	busy = true;
	etalon_core_advance(core, now);
	busy = false;
	set_timer(now, etalon_core_next(core));
}

/* Something earlier than what the timer waits for may have come up. */
static void arm(u64 now)
{
	u64 next = etalon_core_next(core);

	if (next < armed)
		set_timer(now, next);
}

/* The devices. */

__be32 etalon_address(u32 host)
{
	u32 rack = host / info.hosts;

	return htonl(10 << 24 | rack << 8 | (host % info.hosts + 1));
}

/* The host with this address; host_count or more if there is none. */
static u32 host_of(__be32 address)
{
	u32 host = (ntohl(address) & 0xff) - 1;
	u32 rack = ntohl(address) >> 8 & 0xffff;

	if (ntohl(address) >> 24 != 10 || host >= info.hosts)
		return U32_MAX;
	return rack * info.hosts + host;
}

/* What answers for a connection in TIME_WAIT has TCP's protocol, but it is a raw socket, without a window. */
static void describe_socket(const struct sock *sk, struct etalon_packet *packet)
{
	if (!sk || !sk_fullsock(sk) || sk->sk_type != SOCK_STREAM || sk->sk_protocol != IPPROTO_TCP)
		return;
	packet->flags |= ETALON_PACKET_SOCKET;
	packet->cwnd = tcp_snd_cwnd(tcp_sk(sk));
	packet->ssthresh = tcp_sk(sk)->snd_ssthresh;
	packet->srtt_us = tcp_sk(sk)->srtt_us >> 3;
}

/* A datagram of UDP, or a fragment of one; its ports are not known if others came between. */
static void describe_udp(const struct sk_buff *skb, const struct iphdr *ip, int offset,
			 struct host *host, struct etalon_packet *packet)
{
	const struct udphdr *udp;
	struct udphdr room;

	if (ip->frag_off & htons(IP_OFFSET)) {
		if (ip->daddr != host->fragmented.dst || ip->id != host->fragmented.id)
			return;
		packet->sport = ntohs(host->fragmented.sport);
		packet->dport = ntohs(host->fragmented.dport);
	} else {
		udp = skb_header_pointer(skb, offset, sizeof(room), &room);
		if (!udp)
			return;
		offset += sizeof(*udp);
		packet->sport = ntohs(udp->source);
		packet->dport = ntohs(udp->dest);
		if (ip->frag_off & htons(IP_MF)) {
			host->fragmented.dst = ip->daddr;
			host->fragmented.id = ip->id;
			host->fragmented.sport = udp->source;
			host->fragmented.dport = udp->dest;
		}
	}
	packet->flags |= ETALON_PACKET_UDP;
	packet->payload = max((int)skb->len - offset, 0);
}

/* False if it is not a packet of IPv4. */
static bool describe(const struct sk_buff *skb, struct host *host, struct etalon_packet *packet)
{
	int offset = skb_network_offset(skb);
	const struct tcphdr *tcp;
	const struct iphdr *ip;
	struct tcphdr tcp_room;
	struct iphdr ip_room;
	int payload;

	if (skb->protocol != htons(ETH_P_IP))
		return false;
	ip = skb_header_pointer(skb, offset, sizeof(ip_room), &ip_room);
	if (!ip)
		return false;
	*packet = (struct etalon_packet) {
		.handle = (unsigned long)skb,
		.dst = host_of(ip->daddr),
		.bytes = skb->len,
	};
	if (!INET_ECN_is_not_ect(ip->tos))
		packet->flags |= ETALON_PACKET_ECT;
	offset += ip->ihl * 4;
	if (ip->protocol == IPPROTO_UDP)
		describe_udp(skb, ip, offset, host, packet);
	if (ip->protocol != IPPROTO_TCP || ip->frag_off & htons(IP_OFFSET))
		return true;
	tcp = skb_header_pointer(skb, offset, sizeof(tcp_room), &tcp_room);
	if (!tcp)
		return true;
	payload = (int)skb->len - offset - tcp->doff * 4;
	packet->flags |= ETALON_PACKET_TCP;
	packet->sport = ntohs(tcp->source);
	packet->dport = ntohs(tcp->dest);
	packet->seq = ntohl(tcp->seq);
	packet->ack = ntohl(tcp->ack_seq);
	packet->payload = max(payload, 0);
	packet->flags |= tcp->syn ? ETALON_PACKET_SYN : 0;
	packet->flags |= tcp->fin ? ETALON_PACKET_FIN : 0;
	packet->flags |= tcp->rst ? ETALON_PACKET_RST : 0;
	describe_socket(skb->sk, packet);
	return true;
}

static netdev_tx_t host_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct host *host = netdev_priv(dev);
	struct etalon_packet packet;
	unsigned long flags;
	bool taken;
	u64 now;

	local_irq_save(flags);
	now = ktime_get_ns();
	taken = describe(skb, host, &packet) && etalon_core_send(core, now, host->index, &packet);
	if (taken) {
		netif_stop_queue(dev);
		dev->stats.tx_packets++;
		dev->stats.tx_bytes += skb->len;
		arm(now);
	} else {
		dev->stats.tx_dropped++;
		dev_kfree_skb_any(skb);
	}
	local_irq_restore(flags);
	return NETDEV_TX_OK;
}

static void host_uninit(struct net_device *dev)
{
	struct host *host = netdev_priv(dev);

	devices[host->index] = NULL;
}

static const struct net_device_ops host_ops = {
	.ndo_start_xmit = host_xmit,
	.ndo_uninit = host_uninit,
};

static void host_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &host_ops;
	dev->needs_free_netdev = true;
	dev->flags |= IFF_NOARP;
	dev->features |= NETIF_F_HW_CSUM | NETIF_F_SG;
	dev->hw_features |= NETIF_F_HW_CSUM | NETIF_F_SG;
}

int etalon_host_create(u32 index, struct net *net)
{
	u8 mac[ETH_ALEN] = { 0x02 };
	struct net_device *dev;
	struct host *host;
	int ret;

	if (index >= host_count)
		return -ENODEV;
	if (devices[index])
		return -EEXIST;
	dev = alloc_netdev(sizeof(*host), "eth0", NET_NAME_PREDICTABLE,
			   host_setup);
	if (!dev)
		return -ENOMEM;
	host = netdev_priv(dev);
	host->index = index;
	put_unaligned_be16(index / info.hosts, mac + 2);
	put_unaligned_be16(index % info.hosts, mac + 4);
	eth_hw_addr_set(dev, mac);
	dev_net_set(dev, net);
	dev->mtu = info.mtu;
	dev->max_mtu = info.mtu;
	ret = register_netdev(dev);
	if (ret) {
		free_netdev(dev);
		return ret;
	}
	devices[index] = dev;
	return 0;
}

struct net *etalon_host_net(u32 host)
{
	return host < host_count && devices[host] ? dev_net(devices[host]) : NULL;
}

u32 etalon_host_of(struct net *net)
{
	for (u32 host = 0; host < host_count; host++)
		if (devices[host] && dev_net(devices[host]) == net)
			return host;
	return U32_MAX;
}

/* The experiment. */

const struct etalon_info *etalon_info(void)
{
	return &info;
}

bool etalon_flow(u32 index, struct etalon_flow *flow)
{
	return core && etalon_core_flow(core, index, flow);
}

bool etalon_kind(u32 index, struct etalon_flow *kind)
{
	return core && etalon_core_kind(core, index, kind);
}

const void *etalon_init_part(size_t *len)
{
	size_t offset;

	*len = 0;
	if (!core)
		return NULL;
	offset = etalon_core_init_offset(core);
	*len = setup_len - offset;
	return setup + offset;
}

int etalon_start(void)
{
	unsigned long flags;
	u64 now, epoch;

	if (!core)
		return -ENODEV;
	if (started)
		return -EALREADY;
	started = true;
	local_irq_save(flags);
	now = ktime_get_ns();
	epoch = (div_u64(now, NSEC_PER_SEC) + 1) * NSEC_PER_SEC;
	etalon_core_start(core, epoch);
	arm(now);
	local_irq_restore(flags);
	return etalon_traffic_start();
}

/* Says of each host what its programs' polls came to. Interrupts are off. */
static void log_polled(void)
{
	struct etalon_record record = {
		.time = etalon_core_now(core, ktime_get_ns()),
		.kind = ETALON_RECORD_POLLED,
	};
	struct um_polled polled;

	for (u32 host = 0; host < host_count; host++) {
		if (!devices[host])
			continue;
		um_polled(dev_net(devices[host]), &polled);
		if (!polled.polls)
			continue;
		record.src = host / info.hosts;
		record.b = host % info.hosts;
		record.c = lower_32_bits(polled.late);
		record.d = upper_32_bits(polled.late);
		record.e = polled.waited;
		etalon_log(&record);
	}
}

int etalon_finish(void)
{
	unsigned long flags;

	if (!core)
		return -ENODEV;
	if (finished)
		return -EALREADY;
	finished = true;
	local_irq_save(flags);
	busy = true;
	etalon_core_log_up_to(core, ktime_get_ns());
	log_polled();
	etalon_core_finish(core, ktime_get_ns());
	busy = false;
	etalon_log_flush();
	local_irq_restore(flags);
	return 0;
}

u64 etalon_now(void)
{
	unsigned long flags;
	u64 kernel, now;

	if (!core)
		return 0;
	/* Reading the clock takes time unless interrupts are off. */
	local_irq_save(flags);
	kernel = ktime_get_ns();
	now = etalon_core_now(core, kernel);
	if (!busy)
		etalon_core_log_up_to(core, kernel);
	local_irq_restore(flags);
	return now;
}

u64 etalon_clock(u64 virtual_ns)
{
	return etalon_core_kernel_time(core, virtual_ns);
}

/* Demand. */

/* Tells the core something at the present time, `now`. */
#define tell_core(call)                      \
	do {                                 \
		unsigned long flags;         \
		u64 now;                     \
                                             \
		local_irq_save(flags);       \
		now = ktime_get_ns();        \
		call;                        \
		arm(now);                    \
		local_irq_restore(flags);    \
	} while (0)

void etalon_flow_started(u32 flow)
{
	tell_core(etalon_core_flow_started(core, now, flow));
}

void etalon_flow_accepted(u32 stream, u64 bytes)
{
	tell_core(etalon_core_flow_accepted(core, now, stream, bytes));
}

void etalon_message_read(u32 end, u64 bytes)
{
	tell_core(etalon_core_read(core, now, end, bytes));
}

void etalon_message_sent(u32 stream, u64 bytes)
{
	tell_core(etalon_core_sent(core, now, stream, bytes));
}

void etalon_flow_killed(u32 flow)
{
	tell_core(etalon_core_flow_killed(core, now, flow));
}

void etalon_report(const void *datagram, size_t len)
{
	tell_core(etalon_core_report(core, now, datagram, len));
}

bool etalon_claim(u32 claim, u32 host, const char *text, size_t len, bool *waits, char *error,
		  size_t cap)
{
	bool taken;

	/* The core may say at once that it is granted. */
	WRITE_ONCE(*waits, true);
	tell_core(taken = etalon_core_claim(core, now, claim, host, text, len, error, cap));
	if (!taken)
		WRITE_ONCE(*waits, false);
	return taken;
}

void etalon_give_up(u32 claim)
{
	tell_core(etalon_core_give_up(core, now, claim));
}

void etalon_flows_over(void)
{
	tell_core(etalon_core_flows_over(core, now));
}

static int __init etalon_init(void)
{
	char error[256];

	setup = etalon_setup_read(&setup_len);
	if (!setup)
		return 0;
	core = etalon_core_new(setup, setup_len, error, sizeof(error));
	if (!core)
		panic("etalon: %s", error);
	etalon_core_info(core, &info);
	host_count = info.racks * info.hosts;
	devices = kvcalloc(host_count, sizeof(*devices), GFP_KERNEL);
	if (!devices)
		panic("etalon: no memory for %u hosts", host_count);
	time_travel_set_event_fn(&timer, timer_expired);
	return 0;
}
device_initcall(etalon_init);
