// SPDX-License-Identifier: GPL-2.0
//! What the C driver of the virtual-time kernel calls of etalon-driver: conversions, an allocator and a panic handler.
//!
//! The functions are declared and described in `kernel/driver/etalon.h`. They rely on what is said there: pointers are
//! valid, interrupts are off, and no call comes from within another.
#![no_std]

extern crate alloc;

mod kernel;

use alloc::boxed::Box;
use alloc::string::ToString;
use core::ffi::c_char;
use core::slice;

use etalon_driver::{Driver, Sent, Socket};
use etalon_scenario::{CC_NAME_MAX, Setup};
use etalon_units::Time;

use crate::kernel::Kernel;

/// What C knows as `struct etalon_core`.
pub struct Core {
    driver: Driver,
    /// Where the text begins in the setup.
    text: usize,
}

/// `struct etalon_info`.
#[repr(C)]
#[allow(missing_docs)]
pub struct Info {
    racks: u32,
    hosts: u32,
    mtu: u32,
    flows: u32,
    pacing: u32,
}

/// `struct etalon_flow`.
#[repr(C)]
#[allow(missing_docs)]
pub struct Flow {
    src: u32,
    dst: u32,
    connect: u64,
    start: u64,
    stop: u64,
    bytes: u64,
    cc: [u8; CC_NAME_MAX + 1],
}

/// `struct etalon_packet`.
#[repr(C)]
#[allow(missing_docs)]
pub struct Packet {
    handle: u64,
    dst: u32,
    bytes: u32,
    seq: u32,
    ack: u32,
    cwnd: u32,
    ssthresh: u32,
    srtt_us: u32,
    sport: u16,
    dport: u16,
    payload: u16,
    flags: u16,
}

const ECT: u16 = 1;
const TCP: u16 = 2;
const SOCKET: u16 = 4;
const SYN: u16 = 8;
const FIN: u16 = 16;
const RST: u16 = 32;

/// Makes the core.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn etalon_core_new(
    setup: *const u8,
    len: usize,
    error: *mut c_char,
    cap: usize,
) -> *mut Core {
    // SAFETY: `setup` has `len` bytes, `error` has room for `cap`.
    let (setup, error) = unsafe {
        (
            slice::from_raw_parts(setup, len),
            slice::from_raw_parts_mut(error.cast::<u8>(), cap),
        )
    };
    let made = Setup::decode(setup)
        .map_err(|e| e.to_string())
        .and_then(|(setup, text)| {
            let driver = Driver::new(setup).map_err(|e| e.to_string())?;
            let text = len - text.len();
            Ok(Core { driver, text })
        });
    match made {
        Ok(core) => Box::into_raw(Box::new(core)),
        Err(why) => {
            // What is too long is cut.
            let len = why.len().min(cap - 1);
            error[..len].copy_from_slice(&why.as_bytes()[..len]);
            error[len] = 0;
            core::ptr::null_mut()
        }
    }
}

/// Fills in `info`.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_info(core: &Core, info: &mut Info) {
    let scenario = core.driver.scenario();
    *info = Info {
        racks: scenario.hosts.racks.into(),
        hosts: scenario.hosts.per_rack.into(),
        mtu: scenario.hosts.mtu.into(),
        flows: scenario.flows.len() as u32,
        pacing: scenario.tcp.pacing.into(),
    };
}

/// Fills in a flow.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_flow(core: &Core, index: u32, flow: &mut Flow) -> bool {
    let scenario = core.driver.scenario();
    let Some(planned) = scenario.flows.get(index as usize) else {
        return false;
    };
    let host = |host| scenario.hosts.index(host);
    let mut cc = [0; CC_NAME_MAX + 1];
    cc[..planned.cc.len()].copy_from_slice(planned.cc.as_bytes());
    *flow = Flow {
        src: host(planned.src()),
        dst: host(planned.dst()),
        connect: planned.connects().0,
        start: planned.start.0,
        stop: planned.stop.map_or(u64::MAX, |time| time.0),
        bytes: planned.bytes.unwrap_or(u64::MAX),
        cc,
    };
    true
}

/// Where the text begins in the setup.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_text_offset(core: &Core) -> usize {
    core.text
}

/// The experiment starts.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_start(core: &mut Core, kernel: u64) {
    core.driver.start(kernel);
}

/// Virtual time.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_now(core: &Core, kernel: u64) -> u64 {
    core.driver.now(kernel).0
}

/// The kernel's time.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_kernel_time(core: &Core, virtual_ns: u64) -> u64 {
    core.driver.kernel_time(Time(virtual_ns))
}

/// A host sends a packet.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_send(
    core: &mut Core,
    kernel: u64,
    host: u32,
    packet: &Packet,
) -> bool {
    let socket = Socket {
        cwnd: packet.cwnd,
        ssthresh: packet.ssthresh,
        srtt_us: packet.srtt_us,
    };
    let sent = Sent {
        handle: packet.handle,
        dst: packet.dst,
        bytes: packet.bytes,
        ect: packet.flags & ECT != 0,
        tcp: packet.flags & TCP != 0,
        syn: packet.flags & SYN != 0,
        fin: packet.flags & FIN != 0,
        rst: packet.flags & RST != 0,
        ports: (packet.sport, packet.dport),
        seq: packet.seq,
        ack: packet.ack,
        payload: packet.payload,
        socket: (packet.flags & SOCKET != 0).then_some(socket),
    };
    core.driver.send(kernel, host, &sent, &Kernel)
}

/// A flow starts.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_flow_started(core: &mut Core, kernel: u64, flow: u32) {
    core.driver.flow_started(kernel, flow, &Kernel);
}

/// A flow is killed.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_flow_killed(core: &mut Core, kernel: u64, flow: u32) {
    core.driver.flow_killed(kernel, flow, &Kernel);
}

/// The estimator receives a datagram.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn etalon_core_report(
    core: &mut Core,
    kernel: u64,
    datagram: *const u8,
    len: usize,
) {
    // SAFETY: the datagram has `len` bytes.
    let datagram = unsafe { slice::from_raw_parts(datagram, len) };
    core.driver.report(kernel, datagram, &Kernel);
}

/// All flows are over.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_flows_over(core: &mut Core, kernel: u64) {
    core.driver.flows_are_over(kernel, &Kernel);
}

/// The next deadline.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_next(core: &Core) -> u64 {
    core.driver.next()
}

/// Does what is due.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_advance(core: &mut Core, kernel: u64) {
    core.driver.advance(kernel, &Kernel);
}

/// Does what is due before.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_log_up_to(core: &mut Core, kernel: u64) {
    core.driver.log_up_to(kernel, &Kernel);
}

/// The run is over.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_finish(core: &mut Core, kernel: u64) {
    core.driver.finish(kernel, &Kernel);
}
