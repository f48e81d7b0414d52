// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is decided outside.

use alloc::string::String;
use alloc::sync::Arc;

use etalon_scenario::Generator;

use super::*;
use crate::{Order, encode_orders};

/// The plan's flow is there, and a generator that decides outside.
fn with_a_generator() -> Setup {
    changed(|scenario| {
        scenario.end_when_done = true;
        scenario.generators = vec![Generator {
            start: Time::ZERO,
            cc: Arc::new(String::from("cubic")),
            cc_params: Arc::default(),
            transport: Arc::default(),
            class: Arc::default(),
        }];
    })
}

/// A kernel that will answer with these orders, question by question.
fn answering(orders: &[&[Order]]) -> Listener {
    let env = Listener::default();
    env.answers
        .replace(orders.iter().map(|orders| encode_orders(orders)).collect());
    env
}

/// What the kernel was told that concerns what is decided outside.
fn told(env: &Listener) -> Vec<Said> {
    let is_of_outside = |said: &&Said| {
        matches!(
            said,
            Said::Asked(_) | Said::Open(_) | Said::Write(..) | Said::Close(_)
        )
    };
    env.said
        .borrow()
        .iter()
        .filter(is_of_outside)
        .copied()
        .collect()
}

fn asked(time: u64, event: Event) -> Said {
    Said::Asked(event.at(Time(time)))
}

fn flow() -> Flow {
    Flow {
        src_host: 1,
        dst_rack: 1,
        dst_host: 1,
        ..Flow::default()
    }
}

/// It wants to be asked again, opens a flow with two messages, writes one back, and closes.
fn asking_again() -> Listener {
    answering(&[
        &[Order::Wake(Time(700))],
        &[
            Order::Open(flow()),
            Order::Write {
                stream: 2,
                bytes: 10,
            },
            Order::Write {
                stream: 2,
                bytes: 5,
            },
            Order::Over(false),
        ],
        &[Order::Write {
            stream: 3,
            bytes: 1,
        }],
        &[Order::Close { flow: 1 }],
        &[],
        &[],
    ])
}

#[test]
fn questions_come_when_a_message_is_whole_and_when_it_is_time() {
    let env = asking_again();
    let mut driver = Driver::new(with_a_generator()).unwrap();
    driver.start(EPOCH);
    assert_eq!(driver.next(), EPOCH); // it is asked at once
    driver.advance(EPOCH, &env);
    assert_eq!(driver.next(), EPOCH + 700);
    driver.advance(EPOCH + 699, &env);
    driver.advance(EPOCH + 700, &env);
    assert_eq!(driver.flow(1), Some(&flow()));
    assert_eq!(driver.flow(2), None);
    driver.read(EPOCH + 800, 3, 9, &env); // no message is whole
    driver.read(EPOCH + 900, 3, 12, &env);
    driver.sent(EPOCH + 950, 2, 15, &env);
    driver.sent(EPOCH + 960, 2, 15, &env); // which is known
    driver.read(EPOCH + 970, 2, 1, &env);
    driver.read(EPOCH + 980, 3, 15, &env);
    assert_eq!(
        told(&env),
        [
            asked(0, Event::Woken),
            asked(700, Event::Woken),
            Said::Open(1),
            Said::Write(2, 10),
            Said::Write(2, 5),
            asked(900, Event::Read { end: 3, bytes: 12 }),
            Said::Write(3, 1),
            asked(
                950,
                Event::Sent {
                    stream: 2,
                    bytes: 15
                }
            ),
            Said::Close(1),
            asked(970, Event::Read { end: 2, bytes: 1 }),
            asked(980, Event::Read { end: 3, bytes: 15 }),
        ]
    );
}

#[test]
fn the_run_ends_when_flows_and_those_outside_are_over() {
    let over = [
        Order::Open(flow()),
        Order::Write {
            stream: 2,
            bytes: 1,
        },
        Order::Over(false),
    ];
    let env = answering(&[&over, &[Order::Over(true)]]);
    let mut driver = Driver::new(with_a_generator()).unwrap();
    driver.start(EPOCH);
    driver.advance(EPOCH, &env);
    driver.flows_are_over(EPOCH + 100, &env);
    assert_ne!(driver.next(), u64::MAX); // something is still to come
    driver.read(EPOCH + 200, 3, 1, &env);
    driver.advance(EPOCH + 200, &env);
    assert_eq!(driver.next(), u64::MAX);
}
