use alloc::format;
use alloc::vec;

use proptest::prelude::*;

use super::*;

const RACKS: u16 = 4;

fn config() -> impl Strategy<Value = Config> {
    let pair = (any::<u16>(), any::<u16>(), any::<u32>())
        .prop_map(|(src, dst, packets)| (Pair { src, dst }, packets));
    (
        any::<[u64; 5]>(),
        any::<[u32; 3]>(),
        prop::option::of((any::<u32>(), any::<u64>())),
        prop::collection::vec(pair, 0..3),
        prop::option::of(any::<[u32; 2]>()),
        prop::option::of(any::<u64>()),
    )
        .prop_map(|(times, counts, resize, pairs, marking, ece)| Config {
            racks: RACKS,
            packet: PacketNetwork {
                rate: Rate(times[0]),
                up_delay: Span(times[1]),
                down_delay: Span(times[2]),
                internal_queue: counts[0],
                hold_queue: counts[1],
            },
            circuit: CircuitNetwork {
                rate: Rate(times[3]),
                delay: Span(times[4]),
            },
            voq: VoqConfig {
                packets: counts[2],
                resize: resize.map(|(packets, span)| Resize {
                    packets,
                    in_advance: Span(span),
                }),
                pairs,
            },
            marking: marking.map(|[threshold, threshold_big]| Marking {
                threshold,
                threshold_big,
            }),
            ece_in_advance: ece.map(Span),
        })
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let configuration = (0..RACKS, any::<bool>(), 1u64..1 << 40, 0u64..1 << 40);
    prop::collection::vec(configuration, 1..5).prop_map(|list| {
        let configuration = |(shift, hole, day, night): (u16, bool, u64, u64)| {
            let source = |dst: u16| {
                let src = (dst + shift) % RACKS;
                (src != dst && !(hole && dst == 0)).then_some(src)
            };
            Configuration {
                matching: Matching::new((0..RACKS).map(source).collect()).unwrap(),
                day: Span(day),
                night: Span(night),
            }
        };
        Schedule::new(list.into_iter().map(configuration).collect()).unwrap()
    })
}

fn control() -> impl Strategy<Value = ControlConfig> {
    let estimator = prop_oneof![
        Just(Estimator::Voq),
        any::<u64>().prop_map(|report| Estimator::Adu {
            report: Span(report),
        }),
        Just(Estimator::Oracle),
    ];
    let words = any::<[u64; 8]>();
    ("[a-z-]{0,20}", estimator, words, any::<bool>()).prop_map(
        |(scheduler, estimator, words, only_big)| {
            let [
                window,
                day,
                night,
                circuit,
                packet,
                threshold,
                compute,
                interval,
            ] = words;
            ControlConfig {
                scheduler,
                estimator,
                window: Span(window),
                min_day: Span(day),
                night: Span(night),
                circuit: Rate(circuit),
                packet: Rate(packet),
                threshold: Bytes(threshold),
                only_big,
                pace: Pace {
                    compute: Span(compute),
                    interval: Span(interval),
                },
            }
        },
    )
}

fn network() -> impl Strategy<Value = NetworkSetup> {
    let stage = (
        prop::option::of(1u64..u64::MAX),
        prop::option::of(any::<u32>()),
        any::<u64>(),
    )
        .prop_map(|(rate, packets, delay)| StageSetup {
            rate: rate.map(Rate),
            packets,
            delay: Span(delay),
        });
    let stages = || prop::collection::vec(stage.clone(), 1..4);
    prop_oneof![
        (
            config(),
            schedule(),
            prop::option::of(control()),
            prop::option::of(any::<u64>())
        )
            .prop_map(|(config, schedule, control, bypass)| {
                NetworkSetup::Rdcn {
                    config,
                    schedule,
                    control,
                    bypass: bypass.map(Span),
                }
            }),
        (stages(), stages()).prop_map(|(stages, back)| NetworkSetup::Dumbbell { stages, back }),
    ]
}

fn flow() -> impl Strategy<Value = FlowSetup> {
    (
        0u32..2,
        0u32..2,
        "[a-z0-9]{0,15}",
        any::<[u64; 2]>(),
        prop::option::of(any::<u64>()),
        prop::option::of(any::<u64>()),
    )
        .prop_map(|(src, dst, cc, times, stop, bytes)| FlowSetup {
            src,
            dst,
            cc,
            connect: Time(times[0].min(times[1])),
            start: Time(times[0].max(times[1])),
            stop: stop.map(Time),
            bytes,
        })
}

fn setup() -> impl Strategy<Value = Setup> {
    (
        any::<u64>(),
        1u64..u64::MAX,
        0u64..1000,
        (1u16..9, any::<u16>()),
        (1u64..u64::MAX, any::<u64>(), any::<u64>()),
        network(),
        prop::collection::vec(flow(), 0..4),
        any::<bool>(),
        (
            prop::option::of((any::<u64>(), any::<u64>(), any::<u16>())),
            any::<bool>(),
        ),
    )
        .prop_map(
            |(
                seed,
                tdf,
                warmup,
                (hosts, mtu),
                host,
                network,
                flows,
                pacing,
                (capture, end_when_done),
            )| Setup {
                seed,
                tdf,
                warmup: Time(warmup),
                end: Time(warmup + 1 + seed / 2),
                racks: match network {
                    NetworkSetup::Rdcn { .. } => RACKS,
                    NetworkSetup::Dumbbell { .. } => 2,
                },
                hosts,
                mtu,
                host: HostSetup {
                    rate: Rate(host.0),
                    delay: Span(host.1),
                    jitter: Span(host.2),
                },
                network,
                flows,
                tcp: TcpSetup { pacing },
                capture: capture.map(|(start, end, snap)| Capture {
                    start: Time(start),
                    end: Time(end),
                    snap,
                }),
                end_when_done,
            },
        )
}

proptest! {
    #[test]
    fn a_setup_comes_back_as_it_was(setup in setup(), text in "\\PC{0,40}") {
        let bytes = setup.encode(&text);
        let (back, back_text) = Setup::decode(&bytes).unwrap();
        prop_assert_eq!(format!("{setup:?}"), format!("{back:?}"));
        prop_assert_eq!(&text, back_text);
    }

    #[test]
    fn what_is_cut_or_longer_is_refused(setup in setup(), cut in any::<prop::sample::Index>()) {
        let mut bytes = setup.encode("host 0\n");
        let short = &bytes[..cut.index(bytes.len())];
        prop_assert!(matches!(Setup::decode(short), Err(SetupError::Short | SetupError::Magic)));
        bytes.push(b'\n');
        prop_assert_eq!(Setup::decode(&bytes).unwrap_err(), SetupError::Long);
    }

    #[test]
    fn no_bytes_make_it_panic(
        setup in setup(),
        place in any::<prop::sample::Index>(),
        value in any::<u64>(),
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = Setup::decode(&noise);
        let mut bytes = setup.encode("");
        let word = place.index(bytes.len() / 8) * 8;
        bytes[word..word + 8].copy_from_slice(&value.to_le_bytes());
        let _ = Setup::decode(&bytes);
    }
}

#[test]
fn a_flow_of_a_host_that_is_not_there_is_refused() {
    let stage = StageSetup {
        rate: None,
        packets: None,
        delay: Span(1),
    };
    let mut setup = Setup {
        seed: 1,
        tdf: 1,
        warmup: Time(0),
        end: Time(1),
        racks: 2,
        hosts: 1,
        mtu: 1500,
        host: HostSetup {
            rate: Rate(1),
            delay: Span(0),
            jitter: Span(0),
        },
        network: NetworkSetup::Dumbbell {
            stages: vec![stage],
            back: vec![stage],
        },
        flows: vec![FlowSetup {
            src: 0,
            dst: 1,
            cc: "cubic".into(),
            connect: Time(0),
            start: Time(0),
            stop: None,
            bytes: None,
        }],
        tcp: TcpSetup { pacing: false },
        capture: None,
        end_when_done: false,
    };
    assert!(Setup::decode(&setup.encode("")).is_ok());
    let mut late = setup.clone();
    late.flows[0].connect = Time(1);
    setup.flows[0].dst = 2;
    for impossible in [setup, late] {
        let refused = Setup::decode(&impossible.encode("")).unwrap_err();
        assert_eq!(refused, SetupError::Range);
    }
}
