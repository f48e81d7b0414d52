/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel's C code shares with Rust. Generated from the Rust types, not
 * to be edited: crates/etalon-linux/tests/header.rs writes and checks it.
 */
#ifndef ETALON_CORE_H
#define ETALON_CORE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

/**
 * The port of the flows' servers.
 */
#define ETALON_SERVER_PORT 5001

/**
 * The port of the client of flow 0; those of the others follow.
 */
#define ETALON_CLIENT_PORT 40001

/**
 * The port of the client's second subflow of MPTCP flow 0; those of the others follow, then those of third subflows.
 */
#define ETALON_SUBFLOW_PORT 20001

/**
 * Flows that have ports for [subflows](MOST_SUBFLOWS) of their own.
 */
#define ETALON_MOST_MPTCP 6666

/**
 * Subflows for which there are ports.
 */
#define ETALON_PATHS 4

/**
 * A flow is TDTCP's.
 */
#define ETALON_TRANSPORT_TDTCP 1

/**
 * A flow is MPTCP's.
 */
#define ETALON_TRANSPORT_MPTCP 2

/**
 * MPTCP gives data to the subflow of the active TDN.
 */
#define ETALON_MPTCP_TDM 1

/**
 * MPTCP's subflows send ACKs while their TDN is active.
 */
#define ETALON_MPTCP_PINNED 2

/**
 * MPTCP sends again on the next subflow what is not acknowledged when the TDN changes.
 */
#define ETALON_MPTCP_REINJECT 4

/**
 * The descriptor that the kernel reads its setup from.
 */
#define ETALON_SETUP_FD 3

/**
 * The descriptor that the kernel writes its log to.
 */
#define ETALON_LOG_FD 4

/**
 * The descriptor that the kernel reads the standard input of a program from.
 */
#define ETALON_INPUT_FD 5

/**
 * The descriptor that the kernel reads answers to its questions from.
 */
#define ETALON_ANSWER_FD 6

/**
 * The IP header allows CE.
 */
#define ETALON_PACKET_ECT 1

/**
 * It is a TCP segment.
 */
#define ETALON_PACKET_TCP 2

/**
 * The sending socket is known.
 */
#define ETALON_PACKET_SOCKET 4

/**
 * TCP's SYN flag.
 */
#define ETALON_PACKET_SYN 8

/**
 * TCP's FIN flag.
 */
#define ETALON_PACKET_FIN 16

/**
 * TCP's RST flag.
 */
#define ETALON_PACKET_RST 32

/**
 * It is a datagram of UDP, or a fragment of one. Ports and payload are known.
 */
#define ETALON_PACKET_UDP 64

/**
 * The most bytes of data that follow a record.
 */
#define ETALON_DATA_MAX 65504

/**
 * What the kernel runs besides the flows.
 */
enum etalon_mode
#if __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // __STDC_VERSION__ >= 202311L
 {
  /**
   * The plan, up to its duration.
   */
  ETALON_MODE_RUN,
  /**
   * The plan and its programs, up to the end of the first program or the plan's duration, whichever comes first.
   */
  ETALON_MODE_EXEC,
  /**
   * As [`Mode::Exec`], but the first program has the terminal, and the plan's duration does not end it.
   */
  ETALON_MODE_SHELL,
};
#if __STDC_VERSION__ >= 202311L
typedef enum etalon_mode etalon_mode;
#else
typedef uint32_t etalon_mode;
#endif // __STDC_VERSION__ >= 202311L

/**
 * What C knows as `struct etalon_core`.
 */
struct etalon_core;

/**
 * What the kernel's C code knows of a scenario, flows apart.
 */
struct etalon_info {
  /**
   * Number of racks.
   */
  uint32_t racks;
  /**
   * Hosts in each rack.
   */
  uint32_t hosts;
  /**
   * Largest IP packet in bytes.
   */
  uint32_t mtu;
  /**
   * Number of flows.
   */
  uint32_t flows;
  /**
   * Whether senders pace.
   */
  uint32_t pacing;
  /**
   * Kinds of flows that are opened from outside.
   */
  uint32_t kinds;
};

/**
 * A flow as the kernel's C code makes it.
 */
struct etalon_flow {
  /**
   * The sending host's number.
   */
  uint32_t src;
  /**
   * The receiving host's number.
   */
  uint32_t dst;
  /**
   * When its client connects, in virtual ns, as all of these; not after the start.
   */
  uint64_t connect;
  /**
   * When it starts.
   */
  uint64_t start;
  /**
   * When it is killed; 2^64 - 1 for never.
   */
  uint64_t stop;
  /**
   * Bytes to send; 2^64 - 1 for no end.
   */
  uint64_t bytes;
  /**
   * The kernel's name of its congestion control.
   */
  char cc[16];
  /**
   * Whether its sender's state is followed.
   */
  uint32_t followed;
  /**
   * What carries it: 0 for TCP, else `TRANSPORT_TDTCP` or `TRANSPORT_MPTCP`.
   */
  uint32_t transport;
  /**
   * The value of the socket option `TCP_TDTCP`: the number of TDNs and TDTCP's switches; 0 for other transports.
   */
  uint32_t tdtcp;
  /**
   * MPTCP's subflows; 0 for other transports.
   */
  uint32_t subflows;
  /**
   * MPTCP's switches: `MPTCP_TDM`, `MPTCP_PINNED`.
   */
  uint32_t mptcp;
  /**
   * When the client's end stops to be one of TDTCP; 2^64 - 1 for never.
   */
  uint64_t downgrade;
  /**
   * The value of the socket option `TCP_TDTCP_CC`: a congestion control for each TDN; empty if all have that of the flow.
   */
  char tdn_cc[64];
};

/**
 * A packet that a host sends. What follows TCP's ports has a meaning if its flag is set.
 */
struct etalon_packet {
  /**
   * Whatever the kernel knows the packet by.
   */
  uint64_t handle;
  /**
   * The receiving host.
   */
  uint32_t dst;
  /**
   * Length on the wire in bytes.
   */
  uint32_t bytes;
  /**
   * TCP sequence number.
   */
  uint32_t seq;
  /**
   * TCP acknowledgement number.
   */
  uint32_t ack;
  /**
   * Congestion window in packets; with ssthresh and srtt_us, if SOCKET.
   */
  uint32_t cwnd;
  /**
   * Slow start threshold in packets.
   */
  uint32_t ssthresh;
  /**
   * Smoothed round trip time in microseconds.
   */
  uint32_t srtt_us;
  /**
   * TCP's or UDP's source port.
   */
  uint16_t sport;
  /**
   * TCP's or UDP's destination port.
   */
  uint16_t dport;
  /**
   * TCP or UDP payload in bytes.
   */
  uint16_t payload;
  /**
   * The flags below.
   */
  uint16_t flags;
};

/**
 * A record as it is written: what the fields mean depends on the kind.
 */
struct etalon_record {
  uint64_t time;
  uint8_t kind;
  uint8_t a;
  uint16_t src;
  uint16_t dst;
  uint16_t b;
  uint32_t c;
  uint32_t d;
  uint64_t e;
};

/**
 * How much of everything follows, and what all hosts have.
 */
struct etalon_init {
  /**
   * A [`Mode`].
   */
  uint32_t mode;
  /**
   * Largest IP packet in bytes.
   */
  uint32_t mtu;
  /**
   * Number of hosts.
   */
  uint32_t hosts;
  /**
   * Number of programs.
   */
  uint32_t programs;
  /**
   * Number of sysctls of every host's namespace.
   */
  uint32_t sysctls;
  /**
   * Number of files that are written once.
   */
  uint32_t files;
  /**
   * Number of variables.
   */
  uint32_t variables;
  /**
   * Whether programs start in a folder.
   */
  uint32_t folder;
};

/**
 * A host, `r<rack>h<number>`.
 */
struct etalon_init_host {
  /**
   * Its rack.
   */
  uint16_t rack;
  /**
   * Its number in the rack.
   */
  uint16_t number;
  /**
   * Its IPv4 address.
   */
  uint8_t address[4];
  /**
   * Its address on the control network; zeros without one.
   */
  uint8_t control[4];
  /**
   * Number of its routes.
   */
  uint32_t routes;
};

/**
 * A program: what follows its arguments is the next one's.
 */
struct etalon_init_program {
  /**
   * When it starts, in virtual ns.
   */
  uint64_t start;
  /**
   * Number of its host among all.
   */
  uint32_t host;
  /**
   * Number of its arguments, itself included.
   */
  uint16_t arguments;
  /**
   * Number of its own variables.
   */
  uint16_t variables;
};

/**
 * A route of a host, and what its TCP takes for the way to there: 0 is the kernel's own.
 */
struct etalon_init_route {
  /**
   * The network that it leads to.
   */
  uint8_t net[4];
  /**
   * Bits of that network's prefix.
   */
  uint32_t prefix_bits;
  /**
   * Initial congestion window in segments.
   */
  uint32_t initcwnd;
  /**
   * Largest congestion window in segments.
   */
  uint32_t max_cwnd;
  /**
   * Smallest retransmission timeout in ms.
   */
  uint32_t rto_min_ms;
  /**
   * Retransmission timeout in ms before the first sample of the RTT.
   */
  uint32_t rto_init_ms;
};

/**
 * Makes the core.
 */
struct etalon_core *etalon_core_new(const uint8_t *setup, size_t len, char *error, size_t cap);

/**
 * Fills in `info`.
 */
void etalon_core_info(const struct etalon_core *core, struct etalon_info *info);

/**
 * Fills in a flow.
 */
bool etalon_core_flow(const struct etalon_core *core, uint32_t index, struct etalon_flow *flow);

/**
 * Where the first process's part begins in the setup.
 */
size_t etalon_core_init_offset(const struct etalon_core *core);

/**
 * The experiment starts.
 */
void etalon_core_start(struct etalon_core *core, uint64_t kernel);

/**
 * Virtual time.
 */
uint64_t etalon_core_now(const struct etalon_core *core, uint64_t kernel);

/**
 * The kernel's time.
 */
uint64_t etalon_core_kernel_time(const struct etalon_core *core, uint64_t virtual_ns);

/**
 * A host sends a packet.
 */
bool etalon_core_send(struct etalon_core *core,
                      uint64_t kernel,
                      uint32_t host,
                      const struct etalon_packet *packet);

/**
 * A flow starts.
 */
void etalon_core_flow_started(struct etalon_core *core, uint64_t kernel, uint32_t flow);

/**
 * A stream has taken so many bytes: 2n from flow n's client, 2n + 1 from its server.
 */
void etalon_core_flow_accepted(struct etalon_core *core,
                               uint64_t kernel,
                               uint32_t stream,
                               uint64_t bytes);

/**
 * A flow is killed.
 */
void etalon_core_flow_killed(struct etalon_core *core, uint64_t kernel, uint32_t flow);

/**
 * The estimator receives a datagram.
 */
void etalon_core_report(struct etalon_core *core,
                        uint64_t kernel,
                        const uint8_t *datagram,
                        size_t len);

/**
 * What flows have in common that are opened from outside.
 */
bool etalon_core_kind(const struct etalon_core *core, uint32_t index, struct etalon_flow *flow);

/**
 * An end of a flow that was opened from outside has read so many bytes.
 */
void etalon_core_read(struct etalon_core *core, uint64_t kernel, uint32_t end, uint64_t bytes);

/**
 * So many bytes of a stream of such a flow have been sent.
 */
void etalon_core_sent(struct etalon_core *core, uint64_t kernel, uint32_t stream, uint64_t bytes);

/**
 * A program asks for circuits.
 */
bool etalon_core_claim(struct etalon_core *core,
                       uint64_t kernel,
                       uint32_t claim,
                       uint32_t host,
                       const char *text,
                       size_t len,
                       char *error,
                       size_t cap);

/**
 * Nobody has a claim any more.
 */
void etalon_core_give_up(struct etalon_core *core, uint64_t kernel, uint32_t claim);

/**
 * All flows are over.
 */
void etalon_core_flows_over(struct etalon_core *core, uint64_t kernel);

/**
 * The next deadline.
 */
uint64_t etalon_core_next(const struct etalon_core *core);

/**
 * Does what is due.
 */
void etalon_core_advance(struct etalon_core *core, uint64_t kernel);

/**
 * Does what is due before.
 */
void etalon_core_log_up_to(struct etalon_core *core, uint64_t kernel);

/**
 * The run is over.
 */
void etalon_core_finish(struct etalon_core *core, uint64_t kernel);

extern void *etalon_alloc(size_t len);

extern void etalon_free(void *memory, size_t len);

extern void etalon_panic(const uint8_t *message, size_t len);

extern void etalon_log_raw(const struct etalon_record *record);

extern void etalon_capture(uint64_t time, uint64_t handle, uint16_t snap);

extern void etalon_mark(uint64_t handle, bool ce, bool ece);

extern void etalon_deliver(uint64_t handle, uint32_t host);

extern void etalon_discard(uint64_t handle);

extern void etalon_nic_free(uint64_t handle, uint32_t host);

extern uint64_t etalon_notification(uint32_t host, uint32_t rack, uint32_t tdn);

extern void etalon_milestone(uint64_t time, uint32_t which);

extern void etalon_ask(const struct etalon_record *question, uint8_t *answer, size_t len);

extern void etalon_answer(uint8_t *answer, size_t len);

extern void etalon_message_open(uint32_t flow);

extern void etalon_message_write(uint32_t stream, uint64_t bytes);

extern void etalon_message_close(uint32_t flow);

extern void etalon_granted(uint32_t claim, uint32_t changed);

extern void etalon_fail(uint64_t time, const uint8_t *sentence, size_t len);

/* Kinds of records: crates/etalon-events says what their fields mean. */
enum etalon_kind {
  ETALON_RECORD_ENQUEUE = 1,
  ETALON_RECORD_DEQUEUE = 2,
  ETALON_RECORD_DROPPED = 3,
  ETALON_RECORD_MARKED = 4,
  ETALON_RECORD_RESIZED = 5,
  ETALON_RECORD_CIRCUIT = 6,
  ETALON_RECORD_GATE = 30,
  ETALON_RECORD_DEPARTED = 7,
  ETALON_RECORD_SCHEDULED = 36,
  ETALON_RECORD_PASSED = 35,
  ETALON_RECORD_HELD = 8,
  ETALON_RECORD_DAY = 9,
  ETALON_RECORD_NIGHT = 10,
  ETALON_RECORD_WEEK = 11,
  ETALON_RECORD_ANNOUNCED = 29,
  ETALON_RECORD_NOTIFIED = 31,
  ETALON_RECORD_TRIMMED = 38,
  ETALON_RECORD_RETURNED = 39,
  ETALON_RECORD_TRAVELLED = 49,
  ETALON_RECORD_CAME = 54,
  ETALON_RECORD_SLICE = 40,
  ETALON_RECORD_JOINED = 51,
  ETALON_RECORD_REROUTED = 41,
  ETALON_RECORD_ENTERED = 12,
  ETALON_RECORD_LEFT = 13,
  ETALON_RECORD_LOST = 14,
  ETALON_RECORD_BYTES = 15,
  ETALON_RECORD_BEGIN = 16,
  ETALON_RECORD_END = 17,
  ETALON_RECORD_DEMANDED = 18,
  ETALON_RECORD_CHANGING = 50,
  ETALON_RECORD_PLANNED_DAY = 19,
  ETALON_RECORD_AWAITED = 52,
  ETALON_RECORD_KEPT = 53,
  ETALON_RECORD_PLANNED_CIRCUIT = 20,
  ETALON_RECORD_COMPUTED = 21,
  ETALON_RECORD_CWND = 22,
  ETALON_RECORD_SENDER = 32,
  ETALON_RECORD_OPENED = 33,
  ETALON_RECORD_CLOSED = 34,
  ETALON_RECORD_STARTED = 23,
  ETALON_RECORD_DONE = 24,
  ETALON_RECORD_COUNTER = 25,
  ETALON_RECORD_EXITED = 26,
  ETALON_RECORD_OUTPUT = 27,
  ETALON_RECORD_WAITING = 37,
  ETALON_RECORD_POLLED = 42,
  ETALON_RECORD_WOKEN = 43,
  ETALON_RECORD_READ = 44,
  ETALON_RECORD_SENT = 45,
  ETALON_RECORD_GRANTED = 46,
  ETALON_RECORD_CONNECTED = 47,
  ETALON_RECORD_PLANNING = 48,
  ETALON_RECORD_FAILURE = 28,
};

/* What is counted of each flow. */
enum etalon_counter {
  ETALON_COUNT_RECEIVED,
  ETALON_COUNT_RETRANSMITS,
  ETALON_COUNT_RTOS,
  ETALON_COUNT_TLPS,
  ETALON_COUNT_RECOVERIES,
  ETALON_COUNT_UNDOS,
  ETALON_COUNT_CWND,
  ETALON_COUNT_SSTHRESH,
  ETALON_COUNT_SRTT,
};

#define ETALON_ESTIMATOR 0xac1ffffe
#define ETALON_ESTIMATOR_PORT 5300

static_assert(sizeof(struct etalon_info) == 24);
static_assert(offsetof(struct etalon_info, racks) == 0);
static_assert(offsetof(struct etalon_info, hosts) == 4);
static_assert(offsetof(struct etalon_info, mtu) == 8);
static_assert(offsetof(struct etalon_info, flows) == 12);
static_assert(offsetof(struct etalon_info, pacing) == 16);
static_assert(offsetof(struct etalon_info, kinds) == 20);
static_assert(sizeof(struct etalon_flow) == 152);
static_assert(offsetof(struct etalon_flow, src) == 0);
static_assert(offsetof(struct etalon_flow, dst) == 4);
static_assert(offsetof(struct etalon_flow, connect) == 8);
static_assert(offsetof(struct etalon_flow, start) == 16);
static_assert(offsetof(struct etalon_flow, stop) == 24);
static_assert(offsetof(struct etalon_flow, bytes) == 32);
static_assert(offsetof(struct etalon_flow, cc) == 40);
static_assert(offsetof(struct etalon_flow, followed) == 56);
static_assert(offsetof(struct etalon_flow, transport) == 60);
static_assert(offsetof(struct etalon_flow, tdtcp) == 64);
static_assert(offsetof(struct etalon_flow, subflows) == 68);
static_assert(offsetof(struct etalon_flow, mptcp) == 72);
static_assert(offsetof(struct etalon_flow, downgrade) == 80);
static_assert(offsetof(struct etalon_flow, tdn_cc) == 88);
static_assert(sizeof(struct etalon_packet) == 48);
static_assert(offsetof(struct etalon_packet, handle) == 0);
static_assert(offsetof(struct etalon_packet, dst) == 8);
static_assert(offsetof(struct etalon_packet, bytes) == 12);
static_assert(offsetof(struct etalon_packet, seq) == 16);
static_assert(offsetof(struct etalon_packet, ack) == 20);
static_assert(offsetof(struct etalon_packet, cwnd) == 24);
static_assert(offsetof(struct etalon_packet, ssthresh) == 28);
static_assert(offsetof(struct etalon_packet, srtt_us) == 32);
static_assert(offsetof(struct etalon_packet, sport) == 36);
static_assert(offsetof(struct etalon_packet, dport) == 38);
static_assert(offsetof(struct etalon_packet, payload) == 40);
static_assert(offsetof(struct etalon_packet, flags) == 42);
static_assert(sizeof(struct etalon_record) == 32);
static_assert(offsetof(struct etalon_record, time) == 0);
static_assert(offsetof(struct etalon_record, kind) == 8);
static_assert(offsetof(struct etalon_record, a) == 9);
static_assert(offsetof(struct etalon_record, src) == 10);
static_assert(offsetof(struct etalon_record, dst) == 12);
static_assert(offsetof(struct etalon_record, b) == 14);
static_assert(offsetof(struct etalon_record, c) == 16);
static_assert(offsetof(struct etalon_record, d) == 20);
static_assert(offsetof(struct etalon_record, e) == 24);
static_assert(sizeof(struct etalon_init) == 32);
static_assert(offsetof(struct etalon_init, mode) == 0);
static_assert(offsetof(struct etalon_init, mtu) == 4);
static_assert(offsetof(struct etalon_init, hosts) == 8);
static_assert(offsetof(struct etalon_init, programs) == 12);
static_assert(offsetof(struct etalon_init, sysctls) == 16);
static_assert(offsetof(struct etalon_init, files) == 20);
static_assert(offsetof(struct etalon_init, variables) == 24);
static_assert(offsetof(struct etalon_init, folder) == 28);
static_assert(sizeof(struct etalon_init_host) == 16);
static_assert(offsetof(struct etalon_init_host, rack) == 0);
static_assert(offsetof(struct etalon_init_host, number) == 2);
static_assert(offsetof(struct etalon_init_host, address) == 4);
static_assert(offsetof(struct etalon_init_host, control) == 8);
static_assert(offsetof(struct etalon_init_host, routes) == 12);
static_assert(sizeof(struct etalon_init_program) == 16);
static_assert(offsetof(struct etalon_init_program, start) == 0);
static_assert(offsetof(struct etalon_init_program, host) == 8);
static_assert(offsetof(struct etalon_init_program, arguments) == 12);
static_assert(offsetof(struct etalon_init_program, variables) == 14);
static_assert(sizeof(struct etalon_init_route) == 24);
static_assert(offsetof(struct etalon_init_route, net) == 0);
static_assert(offsetof(struct etalon_init_route, prefix_bits) == 4);
static_assert(offsetof(struct etalon_init_route, initcwnd) == 8);
static_assert(offsetof(struct etalon_init_route, max_cwnd) == 12);
static_assert(offsetof(struct etalon_init_route, rto_min_ms) == 16);
static_assert(offsetof(struct etalon_init_route, rto_init_ms) == 20);

#endif
