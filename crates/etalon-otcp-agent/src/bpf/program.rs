// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sock_ops program: what it does to a connection, and the maps that it shares with the agent.
//!
//! The kernel calls it at some events of a TCP connection (`enum` of BPF_SOCK_OPS_* in `linux/bpf.h`). It looks up the
//! other host's address and
//!
//! - before a SYN lets the kernel send it more often, so that connect() lasts as long as before ([`crate::syn`]),
//! - tells the first timeout (RTOinit) of a SYN, if the former was done, and of a SYN-ACK,
//! - on a new connection sets the largest window (and ssthresh) and the initial one.
//!
//! Connections of other network namespaces are left alone: their addresses may be other hosts.

use std::mem::offset_of;

use super::asm::{Asm, If, Label, Reg, Reg::*, Size};

/// What the program does towards a destination; 0 leaves the kernel's own. The maps' values.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// First timeout, in ticks.
    pub rto_init_ticks: u32,
    /// Largest congestion window, in segments.
    pub max_cwnd: u32,
    /// Initial window, in segments.
    pub initial_cwnd: u32,
    /// How many more SYNs than usual, where `syn_count` ends.
    pub syn_more: u32,
    /// How many SYNs may be sent again where usually it is the index.
    pub syn_count: [u8; SYN_COUNTS],
}

/// Counts in [`Entry::syn_count`].
pub const SYN_COUNTS: usize = 16;

/// Bytes of an [`Entry`].
pub const ENTRY_SIZE: usize = size_of::<Entry>();

impl Entry {
    /// The entry as the program reads it.
    pub fn bytes(&self) -> [u8; ENTRY_SIZE] {
        let mut bytes = [0; ENTRY_SIZE];
        let words = [
            self.rto_init_ticks,
            self.max_cwnd,
            self.initial_cwnd,
            self.syn_more,
        ];
        for (place, word) in bytes.chunks_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes[16..].copy_from_slice(&self.syn_count);
        bytes
    }
}

/// What the program counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Connections that got parameters.
    Connections,
    /// Settings that the kernel refused.
    Refused,
}

/// Number of counters.
pub const COUNTS: u32 = 2;

/// What is remembered with a socket: how often it would send a SYN again, and how often it was told to.
pub const SOCKET_VALUE_SIZE: u32 = 8;
const USUAL: i16 = 0;
const TOLD: i16 = 4;

/// Descriptors of the program's maps.
#[derive(Clone, Copy, Debug)]
pub struct Maps {
    /// Prefix of IPv4 to [`Entry`].
    pub v4: i32,
    /// Prefix of IPv6 to [`Entry`].
    pub v6: i32,
    /// [`Count`] to u64.
    pub counts: i32,
    /// Socket to what is remembered with it.
    pub sockets: i32,
}

// Events.
const TIMEOUT_INIT: i32 = 1;
const CONNECT: i32 = 3;
const ACTIVE_ESTABLISHED: i32 = 4;
const PASSIVE_ESTABLISHED: i32 = 5;

// Helpers.
const MAP_LOOKUP: i32 = 1;
const SETSOCKOPT: i32 = 49;
const GETSOCKOPT: i32 = 57;
const SK_STORAGE_GET: i32 = 107;
const GET_NETNS_COOKIE: i32 = 122;
const SK_STORAGE_CREATE: i32 = 1;

// Options of SOL_TCP.
const TCP_SYNCNT: i32 = 7;
const TCP_BPF_IW: i32 = 1001;
const TCP_BPF_SNDCWND_CLAMP: i32 = 1002;
const MAX_SYNCNT: i32 = 127;

// Fields of `struct bpf_sock_ops`.
const OP: i16 = 0;
const REPLY: i16 = 4;
const FAMILY: i16 = 20;
const REMOTE_IP4: i16 = 24;
const REMOTE_IP6: i16 = 32;
const IS_FULLSOCK: i16 = 72;
const TOTAL_RETRANS: i16 = 136;
const SK: i16 = 184;

// The frame: an integer for options, and the key of a lookup: its length, then the address. It is written in whole words of
// eight bytes: Linux before 6.9 lets a program without CAP_PERFMON write no part of a word that holds a register.
const WORD: i16 = -8;
const INTEGER: i16 = if LITTLE { WORD } else { WORD + 4 };
const KEY: i16 = -28;
const ADDRESS: i16 = KEY + 4;
const LITTLE: bool = cfg!(target_endian = "little");

/// R6 to R9 are kept throughout: the event's context, its number, the destination's entry, the socket's memory.
const CONTEXT: Reg = R6;
const EVENT: Reg = R7;
const ENTRY: Reg = R8;
const MEMORY: Reg = R9;

struct Program {
    asm: Asm,
    maps: Maps,
    done: Label,
}

/// The program's instructions, for connections of the network namespace with this cookie.
pub fn assemble(maps: Maps, namespace: u64) -> Vec<u8> {
    let mut asm = Asm::default();
    let done = asm.label();
    let mut program = Program { asm, maps, done };
    program.only_ours(namespace);
    program.find_entry();

    let [connect, timeout, established] = [(); 3].map(|()| program.asm.label());
    program
        .asm
        .jump_if(EVENT, If::Eq, CONNECT, connect)
        .jump_if(EVENT, If::Eq, TIMEOUT_INIT, timeout)
        .jump(established);
    program.asm.place(connect);
    program.on_connect();
    program.asm.place(timeout);
    program.on_timeout_init();
    program.asm.place(established);
    program.on_established();

    // 1: what other programs replied, or nobody did, stays.
    program.asm.place(done).set(R0, 1).exit();
    program.asm.finish()
}

impl Program {
    /// Leaves at once if the event is none of those above, or the connection is another namespace's.
    fn only_ours(&mut self, namespace: u64) {
        let ours = self.asm.label();
        self.asm
            .mov(CONTEXT, R1)
            .load(Size::U32, EVENT, CONTEXT, OP);
        for event in [
            TIMEOUT_INIT,
            CONNECT,
            ACTIVE_ESTABLISHED,
            PASSIVE_ESTABLISHED,
        ] {
            self.asm.jump_if(EVENT, If::Eq, event, ours);
        }
        self.asm.jump(self.done);
        self.asm.place(ours).mov(R1, CONTEXT).call(GET_NETNS_COOKIE);
        self.asm
            .set_u64(R1, namespace)
            .jump_if_differ(R0, R1, self.done);
    }

    /// Looks up the other host; leaves if there is no entry.
    fn find_entry(&mut self) {
        let [v4, v6, found] = [(); 3].map(|()| self.asm.label());
        self.asm
            .load(Size::U32, R1, CONTEXT, FAMILY)
            .jump_if(R1, If::Eq, libc::AF_INET, v4)
            .jump_if(R1, If::Ne, libc::AF_INET6, self.done);
        for (i, reg) in [R1, R2, R3, R4].into_iter().enumerate() {
            self.asm
                .load(Size::U32, reg, CONTEXT, REMOTE_IP6 + 4 * i as i16);
        }
        // IPv4 on an IPv6 socket: ::ffff:a.b.c.d; and :: while the connection is a request to a server.
        self.asm
            .mov(R5, R1)
            .or(R5, R2)
            .jump_if(R5, If::Ne, 0, v6)
            .jump_if(R3, If::Eq, 0xffff_u32.to_be().cast_signed(), v4)
            .mov(R5, R3)
            .or(R5, R4)
            .jump_if(R5, If::Eq, 0, v4);
        self.asm.place(v6).store_constant(Size::U32, R10, KEY, 128);
        self.store_pair(ADDRESS, R1, R2);
        self.store_pair(ADDRESS + 8, R3, R4);
        self.asm.set_map(R1, self.maps.v6);
        self.lookup();
        self.asm.jump(found);
        self.asm
            .place(v4)
            .store_constant(Size::U32, R10, KEY, 32)
            .load(Size::U32, R1, CONTEXT, REMOTE_IP4)
            .set(R2, 0);
        self.store_pair(ADDRESS, R1, R2);
        self.asm.set_map(R1, self.maps.v4);
        self.lookup();
        self.asm
            .place(found)
            .jump_if_null(R0, self.done)
            .mov(ENTRY, R0);
    }

    /// Writes two integers of four bytes side by side into the frame. Their registers are lost.
    fn store_pair(&mut self, offset: i16, first: Reg, second: Reg) {
        let (low, high) = if LITTLE {
            (first, second)
        } else {
            (second, first)
        };
        self.asm
            .shift_left(high, 32)
            .or(low, high)
            .store(Size::U64, R10, offset, low);
    }

    /// R0 = the entry in the map in R1 for the key in the frame.
    fn lookup(&mut self) {
        self.asm
            .mov(R2, R10)
            .add_constant(R2, KEY.into())
            .call(MAP_LOOKUP);
    }

    /// Loads a field of the destination's entry, or goes on at the label if it is 0.
    fn field_or(&mut self, to: Reg, offset: usize, otherwise: Label) {
        self.asm
            .load(Size::U32, to, ENTRY, offset as i16)
            .jump_if(to, If::Eq, 0, otherwise);
    }

    /// R0 = what is remembered with the connection's socket, or leaves.
    fn memory_of_socket(&mut self, flags: i32) {
        self.asm
            .load(Size::U64, R2, CONTEXT, SK)
            .jump_if_null(R2, self.done)
            .set_map(R1, self.maps.sockets)
            .set(R3, 0)
            .set(R4, flags)
            .call(SK_STORAGE_GET)
            .jump_if_null(R0, self.done);
    }

    /// Gets or sets an option of TCP, whose value is the integer in the frame.
    fn option(&mut self, helper: i32, option: i32) {
        self.asm
            .mov(R1, CONTEXT)
            .set(R2, libc::IPPROTO_TCP)
            .set(R3, option)
            .mov(R4, R10)
            .add_constant(R4, INTEGER.into())
            .set(R5, 4)
            .call(helper);
    }

    fn count(&mut self, what: Count) {
        let full = self.asm.label();
        self.asm
            .store_constant(Size::U32, R10, KEY, what as i32)
            .set_map(R1, self.maps.counts);
        self.lookup();
        self.asm
            .jump_if_null(R0, full)
            .set(R1, 1)
            .atomic_add(R0, R1)
            .place(full);
    }

    /// A SYN is about to be sent: more of them, if the first timeout will be shorter.
    fn on_connect(&mut self) {
        let [beyond, chosen, usual, refused] = [(); 4].map(|()| self.asm.label());
        self.field_or(R1, offset_of!(Entry, rto_init_ticks), self.done);
        self.memory_of_socket(SK_STORAGE_CREATE);
        self.asm.mov(MEMORY, R0);
        self.option(GETSOCKOPT, TCP_SYNCNT);
        self.asm.jump_if(R0, If::Ne, 0, refused);
        // What this program told an earlier connect() of the socket is not what its owner wants.
        self.asm
            .load(Size::U32, R2, R10, INTEGER)
            .load(Size::U32, R3, MEMORY, TOLD)
            .jump_if_differ(R2, R3, usual)
            .load(Size::U32, R2, MEMORY, USUAL)
            .place(usual)
            .store(Size::U32, MEMORY, USUAL, R2);
        self.asm
            .jump_if(R2, If::Gt, SYN_COUNTS as i32 - 1, beyond)
            .mov(R3, ENTRY)
            .add(R3, R2)
            .load(Size::U8, R2, R3, offset_of!(Entry, syn_count) as i16)
            .jump(chosen)
            .place(beyond)
            .load(Size::U32, R3, ENTRY, offset_of!(Entry, syn_more) as i16)
            .add(R2, R3);
        let fits = self.asm.label();
        self.asm
            .jump_if(R2, If::Gt, MAX_SYNCNT, fits)
            .jump(chosen)
            .place(fits)
            .set(R2, MAX_SYNCNT);
        self.asm
            .place(chosen)
            .store(Size::U64, R10, WORD, R2)
            .store(Size::U32, MEMORY, TOLD, R2);
        self.option(SETSOCKOPT, TCP_SYNCNT);
        self.asm.jump_if(R0, If::Eq, 0, self.done);
        // The kernel would give up too early: this connection keeps its own first timeout.
        self.asm
            .place(refused)
            .store_constant(Size::U32, MEMORY, TOLD, 0);
        self.count(Count::Refused);
        self.asm.jump(self.done);
    }

    /// The first timeout is asked for: of a SYN (a full socket) or of a SYN-ACK.
    fn on_timeout_init(&mut self) {
        let reply = self.asm.label();
        self.asm
            .load(Size::U32, R1, CONTEXT, IS_FULLSOCK)
            .jump_if(R1, If::Eq, 0, reply);
        self.memory_of_socket(0);
        self.asm
            .load(Size::U32, R1, R0, TOLD)
            .jump_if(R1, If::Eq, 0, self.done);
        self.asm.place(reply);
        self.field_or(R1, offset_of!(Entry, rto_init_ticks), self.done);
        self.asm
            .store(Size::U32, CONTEXT, REPLY, R1)
            .jump(self.done);
    }

    /// The connection is established, and has sent no data yet.
    fn on_established(&mut self) {
        let [no_clamp, no_window] = [(); 2].map(|()| self.asm.label());
        self.count(Count::Connections);
        self.field_or(R1, offset_of!(Entry, max_cwnd), no_clamp);
        self.set_option(TCP_BPF_SNDCWND_CLAMP);
        self.asm.place(no_clamp);
        // After a SYN was lost the kernel begins with one segment (RFC 6298, 5.7): that stays.
        self.asm
            .load(Size::U32, R1, CONTEXT, TOTAL_RETRANS)
            .jump_if(R1, If::Gt, 1, no_window);
        self.field_or(R1, offset_of!(Entry, initial_cwnd), no_window);
        self.set_option(TCP_BPF_IW);
        self.asm.place(no_window).jump(self.done);
    }

    /// Sets an option to R1.
    fn set_option(&mut self, option: i32) {
        let set = self.asm.label();
        self.asm.store(Size::U64, R10, WORD, R1);
        self.option(SETSOCKOPT, option);
        self.asm.jump_if(R0, If::Eq, 0, set);
        self.count(Count::Refused);
        self.asm.place(set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_laid_out_as_the_program_reads_them() {
        let mut entry = Entry {
            rto_init_ticks: 2,
            max_cwnd: 53,
            initial_cwnd: 1,
            syn_more: 8,
            ..Entry::default()
        };
        entry.syn_count[6] = 13;
        let bytes = entry.bytes();
        assert_eq!(bytes.len(), 32);
        assert_eq!(
            bytes[offset_of!(Entry, max_cwnd)..][..4],
            53_u32.to_ne_bytes()
        );
        assert_eq!(
            bytes[offset_of!(Entry, syn_more)..][..4],
            8_u32.to_ne_bytes()
        );
        assert_eq!(bytes[offset_of!(Entry, syn_count) + 6], 13);
    }

    #[test]
    fn the_program_is_small() {
        let code = assemble(
            Maps {
                v4: 3,
                v6: 4,
                counts: 5,
                sockets: 6,
            },
            1,
        );
        assert_eq!(code.len() % 8, 0);
        assert!(code.len() / 8 < 200, "{} instructions", code.len() / 8);
    }
}
