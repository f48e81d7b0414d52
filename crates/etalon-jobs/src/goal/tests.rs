// SPDX-License-Identifier: MIT OR Apache-2.0
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Parser, Trace, Wrong};

fn read(text: &str) -> Result<Trace, Wrong> {
    read_by(text, text.len().max(1))
}

fn read_by(text: &str, piece: usize) -> Result<Trace, Wrong> {
    let mut parser = Parser::default();
    for piece in text.as_bytes().chunks(piece) {
        parser.feed(piece)?;
    }
    parser.finish()
}

const TWO: &str = "\
// two ranks
num_ranks 2
rank 0 {
l1: calc 100 cpu 0
l2: send 10b to 1 tag 4 cpu 0 nic 0
l2 requires l1
}

rank 1 {
l2 irequires l1
l1: recv 10b from 0 tag 4
l2: calc 5 cpu 1 # another processor
}
";

#[test]
fn a_trace_is_the_same_however_it_is_cut() {
    for piece in 1..TWO.len() {
        let trace = read_by(TWO, piece).unwrap();
        assert_eq!((trace.ranks(), trace.operations()), (2, 4));
        assert_eq!(trace.pairs(), [(0, 1)]);
    }
}

/// A trace of two ranks.
fn two(zero: &str, one: &str) -> String {
    format!("num_ranks 2\nrank 0 {{\n{zero}\n}}\nrank 1 {{\n{one}\n}}\n")
}

/// What is wrong with it, by line.
fn assert_wrong(text: &str, line: u64, part: &str) {
    let wrong = read(text).unwrap_err();
    assert!(wrong.why.contains(part), "{text}: {}", wrong.why);
    assert_eq!(wrong.line, line, "{text}: {}", wrong.why);
}

#[test]
fn what_is_wrong_outside_of_blocks_is_told_with_its_line() {
    for (text, line, part) in [
        ("", 0, "num_ranks 16"),
        ("rank 0 {", 1, "comes before the first block"),
        ("num_ranks 1", 1, "from 2 to"),
        ("num_ranks 2\nrank 0 {\n}\n", 0, "no block \"rank 1 {\""),
        ("num_ranks 2\nrank 0 {\n", 2, "no end"),
        (&two("", ""), 0, "no operation"),
    ] {
        assert_wrong(text, line, part);
    }
}

#[test]
fn what_is_wrong_with_a_line_is_told() {
    for (line, part) in [
        ("l1: sned 1b to 1", "\"sned\" is no operation"),
        ("l1: calc 1 tag 2", "\"tag\" is no word of GOAL here"),
        ("l1: send 1 to 1", "\"1\" is no size"),
        (
            "l1: send 1b from 1",
            "\"to\" must follow here, not \"from\"",
        ),
        ("l1: send 1b to 0", "rank 0 would send to itself"),
        ("l1: send 1b to 2", "from 0 to 1"),
        ("l1 needs l1", "\"l1\" is no word of GOAL here"),
        (
            "l1: send 1b to 1 tag 3",
            "rank 1 never receives this message of rank 0 with tag 3",
        ),
    ] {
        assert_wrong(&two(line, ""), 3, part);
    }
}

#[test]
fn what_is_wrong_between_lines_is_told() {
    let late = "l1: recv 1b from 1\nl2: send 1b to 1\nl2 requires l1";
    for (zero, one, line, part) in [
        ("l1: calc 1\nl1: calc 2", "", 4, "\"l1\" is there already"),
        (
            "l1: calc 1\nl1 requires l9",
            "",
            4,
            "there is no label \"l9\"",
        ),
        (
            "send 1b to 1 tag 3",
            "recv 1b from 0 tag 4",
            3,
            "never receives",
        ),
        ("", "l1: recv 1b from 0", 6, "rank 0 never sends"),
        (
            "send 9b to 1",
            "recv 8b from 0",
            6,
            "receives 8 bytes here, but the message has 9: line 3",
        ),
        (
            "l1: calc 1\nl2: calc 1\nl1 requires l2\nl2 requires l1",
            "",
            3,
            "waits for it",
        ),
        (
            late,
            &late.replace(" 1\n", " 0\n"),
            3,
            "rank 0 never ends this operation",
        ),
    ] {
        assert_wrong(&two(zero, one), line, part);
    }
}

#[test]
fn no_text_makes_the_parser_panic() {
    use proptest::prelude::*;

    let words = [
        "num_ranks",
        "rank",
        "{",
        "}",
        "l1:",
        "l2:",
        "l1",
        "send",
        "recv",
        "calc",
        "to",
        "from",
        "tag",
        "requires",
        "irequires",
        "0",
        "1",
        "2",
        "8b",
        "99999999999999999999",
        "//",
        "\u{e9}",
    ];
    let word = prop::sample::select(words.to_vec());
    let line = prop::collection::vec(word, 0..7).prop_map(|words| words.join(" "));
    proptest!(|(lines in prop::collection::vec(line, 0..30), piece in 1_usize..9)| {
        let lines: Vec<String> = lines;
        let _ = read_by(&lines.join("\n"), piece);
        let _ = read_by(&two(&lines.join("\n"), ""), piece);
    });
}
