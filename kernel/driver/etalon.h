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

#include "core.h"

struct net;

/* log.c: for any context, in the order of the calls. */
void etalon_log(const struct etalon_record *record);
/* A record with record->b bytes of data, at most ETALON_DATA_MAX. */
void etalon_log_data(const struct etalon_record *record, const void *data);
/* Writes out what is buffered. Blocks the machine until it is written. */
void etalon_log_flush(void);
void etalon_log_output(u32 program, u32 stream, const void *data, size_t len);
void etalon_log_exited(u32 program, u32 status);
/* A program waits for input, which is written out at once. */
void etalon_log_waiting(u32 program);
/* The run cannot go on: a sentence for people, written out at once. */
__printf(1, 2) void etalon_log_failure(const char *format, ...);

/* netdev.c */

/* The setup, once it has been read; the machine does not come up without. */
const struct etalon_info *etalon_info(void);
/* False if there is no such flow. */
bool etalon_flow(u32 index, struct etalon_flow *flow);
/* What flows have in common that are opened from outside; false if there is no such kind. */
bool etalon_kind(u32 index, struct etalon_flow *kind);
/* The first process's part of the setup. NULL without a setup. */
const void *etalon_init_part(size_t *len);

/* The IPv4 address of a host, in network byte order: 10.rack.host + 1. */
__be32 etalon_address(u32 host);

/* Process context. 0, or -ENODEV, -EEXIST, -ENOMEM. */
int etalon_host_create(u32 host, struct net *net);
/* The namespace of a host, NULL before etalon_host_create(). */
struct net *etalon_host_net(u32 host);
/* The host of a namespace; U32_MAX if it is of none. */
u32 etalon_host_of(struct net *net);

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
/* A stream has taken so many bytes: 2n from flow n's client, 2n + 1 from its server. */
void etalon_flow_accepted(u32 stream, u64 bytes);
void etalon_flow_killed(u32 flow);
/* The estimator receives a datagram. */
void etalon_report(const void *datagram, size_t len);

/*
 * An end of a flow that was opened from outside has read so many bytes in all;
 * so many of a stream have been sent. Any context but the core's.
 */
void etalon_message_read(u32 end, u64 bytes);
void etalon_message_sent(u32 stream, u64 bytes);

/*
 * A program on a host asks for circuits by a text; *waits becomes true until
 * etalon_granted(). Returns false, with a sentence in error, if it is no
 * request. Process context.
 */
bool etalon_claim(u32 claim, u32 host, const char *text, size_t len, bool *waits, char *error,
		  size_t cap);
/* Nobody has a claim any more. Process context. */
void etalon_give_up(u32 claim);

/* All flows are over: the experiment ends, if it is one that ends so. */
void etalon_flows_over(void);

/*
 * control.c: a host's device on the control network, ctl0. 0, or -ENODEV
 * without a setup, -EEXIST, -ENOMEM.
 */
int etalon_control_create(struct net *net);

/* setup.c: the setup, or NULL if there is none. Panics if it cannot be read. */
u8 *etalon_setup_read(size_t *len);

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
 * core.h has what the Rust core (kernel/core) offers, and what it calls. All
 * calls are with interrupts off, but for etalon_core_new(). None of what it
 * calls may call the core. Memory is given back with the size that was asked
 * for.
 */

#endif
