// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the hosts. Each is a network namespace with lo and the driver's eth0;
 * what the ip command does in a dozen processes is one netlink request here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../driver/device.h"
#include "init.h"

/* All hosts are on one link: any 10.x.y.z is a neighbour. */
#define PREFIX_BITS	8
/* The control network: 172.16.0.0 to 172.31.255.255. */
#define CONTROL_PREFIX_BITS	12
/* The initial retransmission timeout: patch 0050. */
#define RTAX_RTO_INIT	18

/* Messages to the kernel, sent at once; the last one asks for an answer. */
struct request {
	char bytes[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
	size_t length;
	struct nlmsghdr *last;
};

static void *message(struct request *request, uint16_t type, uint16_t flags,
		     size_t size)
{
	struct nlmsghdr *header = (void *)(request->bytes + request->length);

	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	header->nlmsg_len = NLMSG_LENGTH(size);
	request->last = header;
	request->length += NLMSG_SPACE(size);
	return NLMSG_DATA(header);
}

static struct rtattr *attribute(struct request *request, uint16_t type,
				const void *value, size_t size)
{
	struct rtattr *attr = (void *)(request->bytes + request->length);

	attr->rta_type = type;
	attr->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(attr), value, size);
	request->length += RTA_SPACE(size);
	request->last->nlmsg_len =
		request->bytes + request->length - (char *)request->last;
	return attr;
}

static void link_up(struct request *request, int index, uint32_t mtu)
{
	struct ifinfomsg *link = message(request, RTM_NEWLINK, 0, sizeof(*link));

	link->ifi_index = index;
	link->ifi_flags = IFF_UP;
	link->ifi_change = IFF_UP;
	if (mtu)
		attribute(request, IFLA_MTU, &mtu, sizeof(mtu));
}

static void address_add(struct request *request, int index,
			struct in_addr address, unsigned int prefix_bits,
			uint32_t flags)
{
	struct ifaddrmsg *body = message(request, RTM_NEWADDR,
					 NLM_F_CREATE | NLM_F_EXCL,
					 sizeof(*body));

	body->ifa_family = AF_INET;
	body->ifa_prefixlen = prefix_bits;
	body->ifa_index = index;
	attribute(request, IFA_LOCAL, &address, sizeof(address));
	attribute(request, IFA_ADDRESS, &address, sizeof(address));
	attribute(request, IFA_FLAGS, &flags, sizeof(flags));
}

static void metric(struct request *request, uint16_t type, uint32_t value)
{
	if (value)
		attribute(request, type, &value, sizeof(value));
}

static void route_add(struct request *request, int index,
		      struct in_addr address, const struct etalon_init_route *route)
{
	uint32_t device = index, locked = 0;
	struct rtattr *metrics;
	struct rtmsg *body = message(request, RTM_NEWROUTE,
				     NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK,
				     sizeof(*body));

	body->rtm_family = AF_INET;
	body->rtm_dst_len = route->prefix_bits;
	body->rtm_table = RT_TABLE_MAIN;
	body->rtm_protocol = RTPROT_BOOT;
	body->rtm_scope = RT_SCOPE_LINK;
	body->rtm_type = RTN_UNICAST;
	attribute(request, RTA_DST, route->net, sizeof(route->net));
	attribute(request, RTA_OIF, &device, sizeof(device));
	attribute(request, RTA_PREFSRC, &address, sizeof(address));
	metrics = attribute(request, RTA_METRICS, NULL, 0);
	metric(request, RTAX_INITCWND, route->initcwnd);
	metric(request, RTAX_CWND, route->max_cwnd);
	metric(request, RTAX_RTO_MIN, route->rto_min_ms);
	metric(request, RTAX_RTO_INIT, route->rto_init_ms);
	/* TCP looks at these only if they are locked. */
	if (route->max_cwnd)
		locked |= 1 << RTAX_CWND;
	if (route->rto_min_ms)
		locked |= 1 << RTAX_RTO_MIN;
	metric(request, RTAX_LOCK, locked);
	metrics->rta_len = request->bytes + request->length - (char *)metrics;
}

/* Sends all messages; the errno of the first that is refused, or 0. */
static int talk(const struct request *request)
{
	char answer[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *header = (void *)answer;
	struct nlmsgerr *error = NLMSG_DATA(header);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t got;

	if (fd < 0)
		return errno;
	if (send(fd, request->bytes, request->length, 0) < 0)
		got = -errno;
	else if ((got = recv(fd, answer, sizeof(answer), 0)) < 0)
		got = -errno;
	close(fd);
	if (got < 0)
		return -got;
	if ((size_t)got < NLMSG_LENGTH(sizeof(*error)) ||
	    header->nlmsg_type != NLMSG_ERROR)
		return EPROTO;
	return -error->error;
}

static void network_up(const struct plan *plan, const struct host *host)
{
	struct request request = { 0 };
	int lo = if_nametoindex("lo"), eth0 = if_nametoindex("eth0");
	int error;

	if (!lo || !eth0)
		fail("host %s has no network device", host->name);
	link_up(&request, lo, 0);
	/* Routes come with their metrics, thus not by themselves. */
	address_add(&request, eth0, host->address, PREFIX_BITS,
		    IFA_F_NOPREFIXROUTE);
	link_up(&request, eth0, plan->mtu);
	request.last->nlmsg_flags |= NLM_F_ACK;
	error = talk(&request);
	for (size_t i = 0; i < host->route_count && !error; i++) {
		request = (struct request){ 0 };
		route_add(&request, eth0, host->address, &host->routes[i]);
		error = talk(&request);
	}
	if (error)
		fail("the network of host %s (%s) cannot be set up: %s",
		     host->name, inet_ntoa(host->address), strerror(error));
}

/* The device on which programs report to the estimator of demand. */
static void control_up(const struct host *host, int device)
{
	struct request request = { 0 };
	int ctl0, error;

	if (ioctl(device, ETALON_CONTROL) < 0)
		fail("host %s cannot have a device on the control network: %s",
		     host->name, strerror(errno));
	ctl0 = if_nametoindex("ctl0");
	address_add(&request, ctl0, host->control, CONTROL_PREFIX_BITS, 0);
	link_up(&request, ctl0, 0);
	request.last->nlmsg_flags |= NLM_F_ACK;
	error = talk(&request);
	if (error)
		fail("the control network of host %s (%s) cannot be set up: %s",
		     host->name, inet_ntoa(host->control), strerror(error));
}

/* Sets a key as sysctl(8) writes it: net.ipv4.tcp_ecn. */
static void sysctl_write(const struct setting *setting)
{
	char path[256];

	if ((size_t)snprintf(path, sizeof(path), "/proc/sys/%s", setting->key) >=
	    sizeof(path))
		fail("the setup has the sysctl '%s'", setting->key);
	for (char *dot = path; *dot; dot++)
		if (*dot == '.')
			*dot = '/';
	write_file(path, setting->value);
}

/* A link to init's open file names the namespace, as ip-netns(8) expects. */
static void name_namespace(const struct host *host)
{
	char path[sizeof(NETNS_FOLDER) + 256], target[64];

	snprintf(path, sizeof(path), NETNS_FOLDER "/%s", host->name);
	snprintf(target, sizeof(target), "/proc/1/fd/%d", host->netns);
	if (symlink(target, path) < 0)
		fail("init cannot name the namespace of host %s: %s", host->name,
		     strerror(errno));
}

void hosts_create(const struct plan *plan, int device)
{
	mkdir(NETNS_FOLDER, 0755);
	for (size_t i = 0; i < plan->host_count; i++) {
		struct host *host = &plan->hosts[i];
		uint32_t index = host->index;

		if (unshare(CLONE_NEWNET) < 0)
			fail("host %s cannot have a network namespace: %s",
			     host->name, strerror(errno));
		for (size_t j = 0; j < plan->sysctl_count; j++)
			sysctl_write(&plan->sysctls[j]);
		if (ioctl(device, ETALON_HOST, &index) < 0)
			fail("host %s cannot have its network device: %s",
			     host->name, strerror(errno));
		network_up(plan, host);
		if (host->control.s_addr)
			control_up(host, device);
		host->netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		if (host->netns < 0)
			fail("init cannot open the namespace of host %s: %s",
			     host->name, strerror(errno));
		name_namespace(host);
	}
}
