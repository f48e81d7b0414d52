// SPDX-License-Identifier: MIT OR Apache-2.0
use etalon_events::{DropReason, QueueId};
use etalon_units::Span;

use super::*;
use crate::example::{
    BACK, CIRCUIT, FORTH, PACKET, circuit, departed, dequeue, dropped, enqueue, plan,
};

fn record(window: (u64, u64), events: &[(u64, Event)]) -> Recorder {
    let window = Window {
        start: Time(window.0),
        end: Time(window.1),
    };
    let mut recorder = Recorder::new(&plan(), Metrics::new(&plan()), window);
    for &(time, event) in events {
        recorder.on(Time(time), event);
    }
    recorder
}

/// A row as text: its columns, with blanks between.
fn rows(table: &Table) -> Vec<String> {
    let cell = |column: &Column, row: usize| match column {
        Column::Integers(values) => values[row].to_string(),
        Column::Floats(values) => values[row].to_string(),
        Column::Text(values) => values[row].clone(),
        Column::Names { names, rows } => names[usize::from(rows[row])].to_owned(),
    };
    let count = match &table[0].1 {
        Column::Integers(values) => values.len(),
        other => panic!("{other:?}"),
    };
    (0..count)
        .map(|row| {
            let cells: Vec<_> = table.iter().map(|c| cell(&c.1, row)).collect();
            cells.join(" ").trim_end().to_owned()
        })
        .collect()
}

#[test]
fn a_row_says_what_happened_where() {
    let (pair, queue) = (BACK, QueueId::voq(BACK));
    let marked = Event::Marked {
        pair,
        queue,
        len: 9,
    };
    let capacity = 50;
    let resized = Event::Resized {
        pair,
        queue,
        capacity,
    };
    let held = Event::Held {
        pair,
        queue,
        bytes: 77,
    };
    let events = [
        (1, Event::Week { week: 3 }),
        (2, Event::Day { day: 1 }),
        (3, circuit(FORTH, true)),
        (4, enqueue(FORTH, 5)),
        (5, dequeue(FORTH, 4, 1500, CIRCUIT)),
        (6, departed(BACK, 66, 12_345, PACKET)),
        (7, dropped(FORTH, 16, DropReason::Shrunk)),
        (8, marked),
        (9, resized),
        (10, held),
        (11, circuit(FORTH, false)),
        (12, Event::Night { day: 1 }),
    ];
    let table = record((0, 100), &events).into_table();
    let names: Vec<_> = table.iter().map(|column| &*column.0).collect();
    let expected = [
        "t_ns", "kind", "src", "dst", "value", "bytes", "network", "at", "queue", "port",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        rows(&table),
        [
            "1 week -1 -1 3 0  -1 -1",
            "2 day -1 -1 1 0  -1 -1",
            "3 circuit_up 0 1 1 0 circuit -1 -1",
            "4 enqueue 0 1 5 9014  0 1",
            "5 dequeue 0 1 4 1500 circuit 0 1",
            "6 depart 1 0 12345 66 packet 1 0",
            "7 drop 0 1 16 9014  0 1",
            "8 mark 1 0 9 0  1 0",
            "9 resize 1 0 50 0  1 0",
            "10 hold 1 0 0 77  1 0",
            "11 circuit_down 0 1 0 0 circuit -1 -1",
            "12 night -1 -1 1 0  -1 -1",
        ]
    );
}

#[test]
fn the_window_has_its_start_and_not_its_end() {
    let events = [9, 10, 19, 20].map(|time| (time, enqueue(FORTH, 1)));
    let table = record((10, 20), &events).into_table();
    assert_eq!(
        rows(&table),
        ["10 enqueue 0 1 1 9014  0 1", "19 enqueue 0 1 1 9014  0 1"]
    );
}

#[test]
fn what_hosts_and_programs_say_is_not_of_a_trace() {
    let events = [
        (1, Event::Begin),
        (2, Event::Started { flow: 0 }),
        (3, Event::PlannedCircuit { pair: FORTH }),
        (
            4,
            Event::PlannedDay {
                day: Span(1),
                night: Span(1),
            },
        ),
    ];
    assert_eq!(rows(&record((0, 100), &events).into_table()).len(), 0);
}

#[test]
fn metrics_hear_the_same_inside_a_recorder_whatever_the_window() {
    let events = [
        (1, enqueue(FORTH, 5)),
        (2, dequeue(FORTH, 4, 1500, CIRCUIT)),
        (30, departed(FORTH, 1500, 28, CIRCUIT)),
    ];
    let mut alone = Metrics::new(&plan());
    for (time, event) in events {
        alone.on(Time(time), event);
    }
    for window in [(0, 100), (2, 3), (50, 60)] {
        let recorder = record(window, &events);
        assert_eq!(
            recorder.metrics.digest.value(),
            alone.digest.value(),
            "{window:?}"
        );
    }
}

#[test]
fn queues_of_ports_have_their_names() {
    let mut plan: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/plan.json")).expect("JSON");
    let layer =
        serde_json::json!({"rate_bps": 1_000_000_000, "delay_ns": 1000, "queue_packets": 8});
    plan["network"] =
        serde_json::json!({"leaf-spine": {"spines": 1, "rack": layer, "spine": layer}});
    plan["schedule"] = serde_json::Value::Null;
    let plan = Scenario::from_json(&plan.to_string()).expect("a good plan");
    let window = Window {
        start: Time(0),
        end: Time(9),
    };
    let mut recorder = Recorder::new(&plan, Metrics::new(&plan), window);
    let queue = QueueId { at: 2, number: 1 };
    let (pair, len, bytes) = (FORTH, 1, 66);
    recorder.on(
        Time(1),
        Event::Enqueue {
            pair,
            queue,
            len,
            bytes,
        },
    );
    assert_eq!(
        rows(&recorder.into_table()),
        ["1 enqueue 0 1 1 66  2 1 s0→r1"]
    );
}
