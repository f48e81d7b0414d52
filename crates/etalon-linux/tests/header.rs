// SPDX-License-Identifier: MIT OR Apache-2.0
//! `kernel/driver/core.h`, which tells the kernel's C code what it shares with Rust, is what the Rust types say.
//!
//! `ETALON_WRITE_HEADER=1 cargo test -p etalon-linux --test header` writes it anew.

use std::fmt::Write as _;
use std::mem::size_of;
use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config, EnumConfig, ExportConfig, Language, RenameRule, Style};
use etalon_driver::CPacket;
use etalon_events::{Counter, Event, Record};
use etalon_scenario::{CFlow, CInfo, InitHead, InitHost, InitProgram, InitRoute, Layout, address};

/// What is declared: types, constants and functions.
const SOURCES: [&str; 7] = [
    "crates/etalon-scenario/src/flow.rs",
    "crates/etalon-scenario/src/transport.rs",
    "crates/etalon-scenario/src/setup.rs",
    "crates/etalon-scenario/src/init.rs",
    "crates/etalon-driver/src/c.rs",
    "crates/etalon-events/src/record.rs",
    "kernel/core/src/lib.rs",
];

/// Names in Rust and in C.
const NAMES: [(&str, &str); 33] = [
    ("Core", "etalon_core"),
    ("CInfo", "etalon_info"),
    ("CFlow", "etalon_flow"),
    ("CPacket", "etalon_packet"),
    ("Record", "etalon_record"),
    ("Time", "uint64_t"),
    ("InitHead", "etalon_init"),
    ("InitHost", "etalon_init_host"),
    ("InitProgram", "etalon_init_program"),
    ("InitRoute", "etalon_init_route"),
    ("Mode", "etalon_mode"),
    ("SERVER_PORT", "ETALON_SERVER_PORT"),
    ("FIRST_CLIENT_PORT", "ETALON_CLIENT_PORT"),
    ("SUBFLOW_PORT", "ETALON_SUBFLOW_PORT"),
    ("MOST_MPTCP", "ETALON_MOST_MPTCP"),
    ("MOST_SUBFLOWS", "ETALON_PATHS"),
    ("TRANSPORT_TDTCP", "ETALON_TRANSPORT_TDTCP"),
    ("TRANSPORT_MPTCP", "ETALON_TRANSPORT_MPTCP"),
    ("MPTCP_TDM", "ETALON_MPTCP_TDM"),
    ("MPTCP_PINNED", "ETALON_MPTCP_PINNED"),
    ("MPTCP_REINJECT", "ETALON_MPTCP_REINJECT"),
    ("SETUP_FD", "ETALON_SETUP_FD"),
    ("LOG_FD", "ETALON_LOG_FD"),
    ("INPUT_FD", "ETALON_INPUT_FD"),
    ("ANSWER_FD", "ETALON_ANSWER_FD"),
    ("DATA_MAX", "ETALON_DATA_MAX"),
    ("PACKET_ECT", "ETALON_PACKET_ECT"),
    ("PACKET_TCP", "ETALON_PACKET_TCP"),
    ("PACKET_SOCKET", "ETALON_PACKET_SOCKET"),
    ("PACKET_SYN", "ETALON_PACKET_SYN"),
    ("PACKET_FIN", "ETALON_PACKET_FIN"),
    ("PACKET_RST", "ETALON_PACKET_RST"),
    ("PACKET_UDP", "ETALON_PACKET_UDP"),
];

const HEAD: &str = "\
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
";

/// Appends assertions that a struct of C is laid out as one of Rust.
fn assert_layout<T: Layout>(say: &mut String, name: &str) {
    let size = size_of::<T>();
    let _ = writeln!(say, "static_assert(sizeof(struct {name}) == {size});");
    for (field, offset) in T::FIELDS {
        let _ = writeln!(
            say,
            "static_assert(offsetof(struct {name}, {field}) == {offset});"
        );
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn config() -> Config {
    let names = NAMES.iter().map(|&(rust, c)| (rust.into(), c.into()));
    Config {
        language: Language::C,
        style: Style::Tag,
        no_includes: true,
        usize_is_size_t: true,
        enumeration: EnumConfig {
            rename_variants: RenameRule::ScreamingSnakeCase,
            prefix_with_name: true,
            ..EnumConfig::default()
        },
        export: ExportConfig {
            include: NAMES.iter().map(|&(rust, _)| rust.into()).collect(),
            exclude: ["MAGIC", "MOST_PORTS", "CC_NAME_MAX", "RECORD_BYTES"]
                .map(String::from)
                .to_vec(),
            rename: names.collect(),
            ..ExportConfig::default()
        },
        ..Config::default()
    }
}

/// The header as it should be.
fn header() -> String {
    let sources = SOURCES.iter().map(|source| root().join(source));
    let bindings = sources
        .fold(Builder::new().with_config(config()), Builder::with_src)
        .generate()
        .expect("declarations");
    let mut declared = Vec::new();
    bindings.write(&mut declared);
    let mut text = format!("{HEAD}\n{}", String::from_utf8(declared).expect("text"));
    let say = &mut text;
    let _ = writeln!(
        say,
        "\n/* Kinds of records: crates/etalon-events says what their fields mean. */\nenum etalon_kind {{"
    );
    for (name, number) in Event::KINDS {
        let _ = writeln!(say, "  ETALON_RECORD_{} = {number},", screaming(name));
    }
    let _ = writeln!(
        say,
        "}};\n\n/* What is counted of each flow. */\nenum etalon_counter {{"
    );
    for counter in Counter::ALL {
        let _ = writeln!(
            say,
            "  ETALON_COUNT_{},",
            screaming(&format!("{counter:?}"))
        );
    }
    let _ = writeln!(say, "}};\n");
    let estimator = address::ESTIMATOR;
    let _ = writeln!(
        say,
        "#define ETALON_ESTIMATOR {:#x}",
        estimator.ip().to_bits()
    );
    let _ = writeln!(say, "#define ETALON_ESTIMATOR_PORT {}\n", estimator.port());
    assert_layout::<CInfo>(say, "etalon_info");
    assert_layout::<CFlow>(say, "etalon_flow");
    assert_layout::<CPacket>(say, "etalon_packet");
    assert_layout::<Record>(say, "etalon_record");
    assert_layout::<InitHead>(say, "etalon_init");
    assert_layout::<InitHost>(say, "etalon_init_host");
    assert_layout::<InitProgram>(say, "etalon_init_program");
    assert_layout::<InitRoute>(say, "etalon_init_route");
    text.push_str("\n#endif\n");
    text
}

/// `PlannedDay` as C writes it: `PLANNED_DAY`.
fn screaming(name: &str) -> String {
    let mut text = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            text.push('_');
        }
        text.extend(letter.to_uppercase());
    }
    text
}

#[test]
fn the_header_is_what_the_types_say() {
    let path = root().join("kernel/driver/core.h");
    let expected = header();
    if std::env::var_os("ETALON_WRITE_HEADER").is_some() {
        std::fs::write(&path, &expected).expect("written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "kernel/driver/core.h is not what the Rust types say: \
         ETALON_WRITE_HEADER=1 cargo test -p etalon-linux --test header"
    );
}
