/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The emulated network: hosts are network namespaces with one device each, the
 * network between them is the Rust core, and what happens goes to a log. What
 * the first process has to know is in device.h.
 *
 * Times called "virtual" are nanoseconds from the start of the experiment;
 * those called "kernel" are nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef ETALON_H
#define ETALON_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/types.h>

struct net;

/*
 * The log: crates/etalon-events/src/event.rs says what the fields mean.
 */
enum etalon_kind {
	ETALON_BYTES	= 15,
	ETALON_STARTED	= 23,	/* c = flow */
	ETALON_DONE	= 24,	/* c = flow, e = bytes received */
	ETALON_COUNTER	= 25,	/* a = enum etalon_counter, c = flow, e = value */
	ETALON_PROGRAM_EXITED	= 26,	/* c = program, d = wait status */
	ETALON_PROGRAM_OUTPUT	= 27,	/* a = stream, b = length, c = program, data */
	ETALON_FAILURE	= 28,	/* b = length, data */
};

enum etalon_counter {
	ETALON_RECEIVED,	/* bytes, by the receiving application */
	ETALON_RETRANSMITS,
	ETALON_RTOS,
	ETALON_TLPS,
	ETALON_RECOVERIES,
	ETALON_UNDOS,
	ETALON_CWND,		/* packets */
	ETALON_SSTHRESH,	/* packets */
	ETALON_SRTT,
};

struct etalon_record {
	__u64 time;		/* virtual ns */
	__u8 kind;
	__u8 a;
	__u16 src;
	__u16 dst;
	__u16 b;
	__u32 c;
	__u32 d;
	__u64 e;
};
static_assert(sizeof(struct etalon_record) == 32);

/* log.c: for any context, in the order of the calls. */
void etalon_log(const struct etalon_record *record);
/* A record with record->b bytes of data, at most ETALON_DATA_MAX. */
#define ETALON_DATA_MAX	0xffe0
void etalon_log_data(const struct etalon_record *record, const void *data);
/* Writes out what is buffered. Blocks the machine until it is written. */
void etalon_log_flush(void);
void etalon_log_output(u32 program, u32 stream, const void *data, size_t len);
void etalon_log_exited(u32 program, u32 status);
/* The run cannot go on: a sentence for people, written out at once. */
__printf(1, 2) void etalon_log_failure(const char *format, ...);

/* netdev.c */

/* The setup, once it has been read; the machine does not come up without. */
struct etalon_info {
	__u32 racks;
	__u32 hosts;		/* in each rack */
	__u32 mtu;
	__u32 flows;
	__u32 pacing;
};

/* Flow n: client port 40001 + n on src, server port 5001 on dst. */
#define ETALON_SERVER_PORT	5001
#define ETALON_CLIENT_PORT	40001

struct etalon_flow {
	__u32 src;		/* hosts: rack * hosts + host */
	__u32 dst;
	__u64 connect;		/* virtual ns, as all of these; not after the start */
	__u64 start;
	__u64 stop;		/* U64_MAX for never */
	__u64 bytes;		/* U64_MAX for no end */
	char cc[16];
};

const struct etalon_info *etalon_info(void);
/* False if there is no such flow. */
bool etalon_flow(u32 index, struct etalon_flow *flow);
/* The setup's text, for the first process. NULL without a setup. */
const char *etalon_core_text(size_t *len);

/* The IPv4 address of a host, in network byte order: 10.rack.host + 1. */
__be32 etalon_address(u32 host);

/* Process context. 0, or -ENODEV, -EEXIST, -ENOMEM. */
int etalon_host_create(u32 host, struct net *net);
/* The namespace of a host, NULL before etalon_host_create(). */
struct net *etalon_host_net(u32 host);

/* Starts the experiment at the next full second of CLOCK_MONOTONIC, and the
 * traffic. 0, or -EALREADY, -ENODEV, or what etalon_traffic_start() returns. */
int etalon_start(void);
/* Logs the end and writes out the log. 0, or -EALREADY. */
int etalon_finish(void);
/* Virtual time now, 0 before the start: for a record that comes next. */
u64 etalon_now(void);
/* The kernel's time at a virtual time, once started. */
u64 etalon_clock(u64 virtual_ns);

/*
 * What is said of demand, where it is known from hosts. Any context.
 */
/* A flow starts: its bytes are its stack's to send. */
void etalon_flow_started(u32 flow);
void etalon_flow_killed(u32 flow);
/* The estimator receives a datagram. */
void etalon_report(const void *datagram, size_t len);

/* All flows are over: the experiment ends, if it is one that ends so. */
void etalon_flows_over(void);

/*
 * control.c: a host's device on the control network, ctl0. 0, or -ENODEV
 * without a setup, -EEXIST, -ENOMEM. The estimator's address is in
 * crates/etalon-measure/src/address.rs.
 */
#define ETALON_ESTIMATOR	(172 << 24 | 31 << 16 | 255 << 8 | 254)
#define ETALON_ESTIMATOR_PORT	5300
int etalon_control_create(struct net *net);

/* device.c: the experiment is over. Interrupts are off. */
void etalon_device_end(void);

/*
 * traffic.c: the flows. Milestones come with interrupts off, while all of the
 * machine is idle: 0 the warm-up is over, 1 the experiment is over. What was
 * counted so far is to be logged.
 */
int etalon_traffic_start(void);
void etalon_traffic_milestone(u64 time, int which);

/*
 * The Rust core (kernel/core). All calls with interrupts off.
 */
struct etalon_core;

struct etalon_packet {
	u64 handle;
	u32 dst;		/* host */
	u32 bytes;		/* on the wire */
	u32 seq;
	u32 ack;
	u32 cwnd;		/* packets; with ssthresh and srtt_us, if SOCKET */
	u32 ssthresh;
	u32 srtt_us;
	u16 sport;
	u16 dport;
	u16 payload;		/* of TCP */
	u16 flags;
#define ETALON_PACKET_ECT	1
#define ETALON_PACKET_TCP	2
#define ETALON_PACKET_SOCKET	4
#define ETALON_PACKET_SYN	8
#define ETALON_PACKET_FIN	16
#define ETALON_PACKET_RST	32
};

/*
 * Process context, interrupts on. NULL with a sentence in @error (cut to @cap
 * bytes, zero-terminated; @cap is not 0).
 */
struct etalon_core *etalon_core_new(const u8 *setup, size_t len, char *error,
				    size_t cap);
void etalon_core_info(const struct etalon_core *core, struct etalon_info *info);
bool etalon_core_flow(const struct etalon_core *core, u32 index,
		      struct etalon_flow *flow);
/* Where the text lies in the setup. */
size_t etalon_core_text_offset(const struct etalon_core *core);
void etalon_core_start(struct etalon_core *core, u64 kernel);
u64 etalon_core_now(const struct etalon_core *core, u64 kernel);
u64 etalon_core_kernel_time(const struct etalon_core *core, u64 virtual_ns);
/* False if the packet has nowhere to go; the caller frees it. */
bool etalon_core_send(struct etalon_core *core, u64 kernel, u32 host,
		      const struct etalon_packet *packet);
/* May change etalon_core_next(), as the next ones may. */
void etalon_core_flow_started(struct etalon_core *core, u64 kernel, u32 flow);
void etalon_core_flow_killed(struct etalon_core *core, u64 kernel, u32 flow);
void etalon_core_report(struct etalon_core *core, u64 kernel,
			const void *datagram, size_t len);
void etalon_core_flows_over(struct etalon_core *core, u64 kernel);
/* When to call etalon_core_advance(), U64_MAX for never. */
u64 etalon_core_next(const struct etalon_core *core);
void etalon_core_advance(struct etalon_core *core, u64 kernel);
/* Brings the log up to date, before something else is written to it. */
void etalon_core_log_up_to(struct etalon_core *core, u64 kernel);
void etalon_core_finish(struct etalon_core *core, u64 kernel);

/* What the core calls; none of these may call the core. The memory that is
 * freed is given with the size that was asked for. */
void *etalon_alloc(size_t len);
void etalon_free(void *memory, size_t len);
void __noreturn etalon_panic(const u8 *message, size_t len);
void etalon_log_raw(const struct etalon_record *record);
void etalon_capture(u64 time, u64 handle, u16 snap);
void etalon_mark(u64 handle, bool ce, bool ece);
void etalon_deliver(u64 handle, u32 host);
void etalon_discard(u64 handle);
void etalon_nic_free(u64 handle, u32 host);
void etalon_milestone(u64 time, u32 which);
/* The run cannot go on: a sentence, written out at once. */
void etalon_fail(u64 time, const u8 *sentence, size_t len);

#endif
