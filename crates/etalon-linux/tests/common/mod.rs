// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that are none: shell scripts that write a log and a console, and end in all the ways that kernels do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use etalon_events::{Event, HostId, PacketHeader, Pair, Plane, QueueId};
use etalon_linux::Image;
use etalon_scenario::Scenario;
use etalon_units::{Span, Time};

/// Two racks of one host, one flow of a million bytes, 10 ms of which the first is not measured.
pub fn plan() -> Scenario {
    let value = serde_json::json!({
        "seed": 1, "tdf": 2, "duration_ns": 10_000_000, "warmup_ns": 1_000_000,
        "hosts": {"racks": 2, "per_rack": 1, "mtu": 9000,
            "rate_bps": 40_000_000_000u64, "delay_ns": 2000, "jitter_ns": 1000},
        "network": {"rdcn": {
            "packet": {"rate_bps": 10_000_000_000u64, "up_delay_ns": 5000, "down_delay_ns": 5000,
                       "internal_queue": 3, "hold_queue": 5},
            "circuits": [{"rate_bps": 80_000_000_000u64, "delay_ns": 30_000}],
            "voq": {"packets": 16}}},
        "schedule": {"configurations": [
            {"sources": [-1, 0], "day_ns": 180_000, "night_ns": 20_000},
            {"sources": [1, -1], "day_ns": 180_000, "night_ns": 20_000},
        ]},
        "tcp": {
            "hz": 250, "min_rto_ns": 200_000_000, "initial_cwnd": 10,
            "min_delayed_ack_ns": 40_000_000, "max_delayed_ack_ns": 200_000_000,
            "receive_buffer_bytes": 65536, "max_receive_buffer_bytes": 3 << 20, "max_send_buffer_bytes": 4 << 20,
            "sack": true, "timestamps": true, "ecn": false, "pacing": false, "tso_win_divisor": 3,
        },
        "flows": [{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "cubic",
                   "start_ns": 0, "bytes": 1_000_000}],
        "measure": {"pair": [0, 1], "weeks_per_run": 3},
    });
    Scenario::from_json(&value.to_string()).expect("a good plan")
}

/// A log, record by record.
#[derive(Default)]
pub struct Written(pub Vec<u8>);

impl Written {
    pub fn say(mut self, time: u64, event: Event) -> Written {
        self.0.extend(event.at(Time(time)).to_bytes());
        self
    }

    pub fn data(mut self, data: &[u8]) -> Written {
        self.0.extend(data);
        self.0.resize(self.0.len().next_multiple_of(32), 0);
        self
    }

    /// A data packet crosses the packet network between these instants.
    pub fn packet(self, from: u64, to: u64, seq: u32) -> Written {
        let pair = Pair { src: 0, dst: 1 };
        let packet = PacketHeader {
            src: HostId::new(pair.src, 0),
            dst: HostId::new(pair.dst, 0),
            flow: Some(0),
            to_server: true,
            payload: 8948,
            bytes: 9014,
            seq,
            ..PacketHeader::default()
        };
        let (bytes, plane, latency) = (9014, Plane::PACKET, Span(to - from));
        let queue = QueueId::voq(pair);
        self.say(from, Event::Entered { packet })
            .say(
                from,
                Event::Enqueue {
                    pair,
                    queue,
                    len: 1,
                    bytes,
                },
            )
            .say(
                from,
                Event::Dequeue {
                    pair,
                    queue,
                    len: 0,
                    bytes,
                    plane,
                },
            )
            .say(
                to,
                Event::Departed {
                    pair,
                    queue,
                    bytes,
                    latency,
                    plane,
                },
            )
            .say(to, Event::Left { packet, plane })
    }
}

/// A kernel that has `log` in the file $LOG and runs `script`; its files go when it is dropped.
pub struct Fake {
    pub image: Image,
    folder: PathBuf,
}

impl Fake {
    pub fn new(name: &str, log: &[u8], script: &str) -> Fake {
        let folder = option_env!("CARGO_TARGET_TMPDIR")
            .map_or_else(std::env::temp_dir, PathBuf::from)
            .join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("kernel");
        let log_path = folder.join("log");
        fs::write(&log_path, log).expect("a log");
        let script = format!(
            "#!/bin/sh\nPATH=/usr/bin:/bin\nLOG={}\n{script}\n",
            log_path.display()
        );
        fs::write(&path, script).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
        Fake {
            image: Image { path, hz: 250 },
            folder,
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
