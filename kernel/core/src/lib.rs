// SPDX-License-Identifier: GPL-2.0
//! What the C driver of the virtual-time kernel calls of etalon-driver: conversions, an allocator and a panic handler.
//!
//! `kernel/driver/core.h` declares the functions, and is made from this crate. They rely on this: pointers are valid, interrupts
//! are off, and no call comes from within another.
#![no_std]

extern crate alloc;

mod kernel;

use alloc::boxed::Box;
use alloc::string::ToString;
use core::ffi::c_char;
use core::slice;

use etalon_driver::{CPacket, Driver};
use etalon_scenario::{CFlow, CInfo, Setup};
use etalon_units::Time;

use crate::kernel::Uml;

/// What C knows as `struct etalon_core`.
pub struct Core {
    driver: Driver,
    /// Where the first process's part begins in the setup.
    init: usize,
}

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
        .and_then(|(setup, init)| {
            let driver = Driver::new(setup).map_err(|e| e.to_string())?;
            let init = len - init.len();
            Ok(Core { driver, init })
        });
    match made {
        Ok(core) => Box::into_raw(Box::new(core)),
        Err(why) => {
            put(&why, error);
            core::ptr::null_mut()
        }
    }
}

/// A sentence for C; what is too long is cut.
fn put(sentence: &str, room: &mut [u8]) {
    let len = sentence.len().min(room.len() - 1);
    room[..len].copy_from_slice(&sentence.as_bytes()[..len]);
    room[len] = 0;
}

/// Fills in `info`.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_info(core: &Core, info: &mut CInfo) {
    *info = core.driver.scenario().into();
}

/// Fills in a flow.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_flow(core: &Core, index: u32, flow: &mut CFlow) -> bool {
    let scenario = core.driver.scenario();
    let Some(planned) = core.driver.flow(index) else {
        return false;
    };
    let followed = scenario.measure.follows(index);
    *flow = planned.to_c(&scenario.hosts, scenario.tdns(), followed);
    true
}

/// Where the first process's part begins in the setup.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_init_offset(core: &Core) -> usize {
    core.init
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
    packet: &CPacket,
) -> bool {
    core.driver.send(kernel, host, &packet.into(), &Uml)
}

/// A flow starts.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_flow_started(core: &mut Core, kernel: u64, flow: u32) {
    core.driver.flow_started(kernel, flow, &Uml);
}

/// A stream has taken so many bytes: 2n from flow n's client, 2n + 1 from its server.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_flow_accepted(
    core: &mut Core,
    kernel: u64,
    stream: u32,
    bytes: u64,
) {
    core.driver.accepted(kernel, stream, bytes, &Uml);
}

/// A flow is killed.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_flow_killed(core: &mut Core, kernel: u64, flow: u32) {
    core.driver.flow_killed(kernel, flow, &Uml);
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
    core.driver.report(kernel, datagram, &Uml);
}

/// What flows have in common that are opened from outside.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_kind(core: &Core, index: u32, flow: &mut CFlow) -> bool {
    let scenario = core.driver.scenario();
    let Some(kind) = scenario.kinds().nth(index as usize) else {
        return false;
    };
    *flow = kind.to_c(&scenario.hosts, scenario.tdns(), false);
    true
}

/// An end of a flow that was opened from outside has read so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_read(core: &mut Core, kernel: u64, end: u32, bytes: u64) {
    core.driver.read(kernel, end, bytes, &Uml);
}

/// So many bytes of a stream of such a flow have been sent.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_sent(core: &mut Core, kernel: u64, stream: u32, bytes: u64) {
    core.driver.sent(kernel, stream, bytes, &Uml);
}

/// A program asks for circuits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn etalon_core_claim(
    core: &mut Core,
    kernel: u64,
    claim: u32,
    host: u32,
    text: *const c_char,
    len: usize,
    error: *mut c_char,
    cap: usize,
) -> bool {
    // SAFETY: `text` has `len` bytes, `error` has room for `cap`.
    let (text, error) = unsafe {
        (
            slice::from_raw_parts(text.cast::<u8>(), len),
            slice::from_raw_parts_mut(error.cast::<u8>(), cap),
        )
    };
    match core.driver.claim(kernel, (claim, host), text, &Uml) {
        Ok(()) => true,
        Err(why) => {
            put(&why, error);
            false
        }
    }
}

/// Nobody has a claim any more.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_give_up(core: &mut Core, kernel: u64, claim: u32) {
    core.driver.give_up(kernel, claim, &Uml);
}

/// All flows are over.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_flows_over(core: &mut Core, kernel: u64) {
    core.driver.flows_are_over(kernel, &Uml);
}

/// The next deadline.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_next(core: &Core) -> u64 {
    core.driver.next()
}

/// Does what is due.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_advance(core: &mut Core, kernel: u64) {
    core.driver.advance(kernel, &Uml);
}

/// Does what is due before.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_log_up_to(core: &mut Core, kernel: u64) {
    core.driver.log_up_to(kernel, &Uml);
}

/// The run is over.
#[unsafe(no_mangle)]
pub extern "C" fn etalon_core_finish(core: &mut Core, kernel: u64) {
    core.driver.finish(kernel, &Uml);
}
