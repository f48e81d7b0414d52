// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a document and the host's routes to what should be on the host, and why. No I/O.
//!
//! A destination of the document gets a route of its own, which goes where the host's route to it goes (the longest that
//! covers it) and has the parameters as metrics. Narrower routes of the host within the destination get one too, because
//! the kernel prefers them. Routes of others are never touched, and what they set has precedence.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::bpf::program::Entry;
use crate::document::Parameters;
use crate::netlink::route::{Control, Route, metric};
use crate::prefix::Prefix;
use crate::syn::{Mender, Spacing};

/// The kernel's first timeout is at least so many ticks, so that it is never over before it has begun.
const MIN_RTO_INIT_TICKS: u32 = 2;

/// What is said of the kernel, how it counts time, and which congestion control new connections are to have.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The length of a tick.
    pub tick: Duration,
    /// How it spaces SYNs.
    pub spacing: Spacing,
    /// For the destinations of documents; None leaves the host's own.
    pub control: Option<Control>,
}

/// What should be on the host for a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The destination of the document that it comes from.
    pub source: Prefix,
    /// The agent's route, if it needs one and can have it.
    pub route: Option<Route>,
    /// What the BPF program does.
    pub entry: Entry,
    /// What people should know: what was rounded, raised or left alone.
    pub notes: Vec<String>,
}

/// What should be on the host.
pub type Plan = BTreeMap<Prefix, Target>;

/// The best route for each prefix: of several the one with the lowest metric, of these the first.
fn best(routes: &[Route]) -> BTreeMap<Prefix, &Route> {
    let mut best: BTreeMap<Prefix, &Route> = BTreeMap::new();
    for route in routes {
        let place = best.entry(route.prefix).or_insert(route);
        if route.priority < place.priority {
            *place = route;
        }
    }
    best
}

/// What should be on a host whose routes (without the agent's) are `others`. Destinations in `given_up` are left to the
/// administrator.
pub fn plan(
    document: &BTreeMap<Prefix, Parameters>,
    others: &[Route],
    given_up: &BTreeSet<Prefix>,
    kernel: Kernel,
) -> Plan {
    let best = best(others);
    let narrower = best
        .keys()
        .filter(|prefix| prefix.length() > 0 && prefix.longest_in(document).is_some());
    let mut mender = Mender::new(kernel.spacing, kernel.tick);
    let targets: BTreeSet<Prefix> = document.keys().chain(narrower).copied().collect();
    targets
        .into_iter()
        .filter_map(|prefix| {
            let (source, parameters) = prefix.longest_in(document)?;
            let base = prefix.longest_in(&best).map(|(_, route)| *route);
            let target = if given_up.contains(&prefix) {
                left_alone(source)
            } else {
                target(prefix, source, parameters, base, kernel, &mut mender)
            };
            Some((prefix, target))
        })
        .collect()
}

/// An empty entry: a shorter prefix in the trie would count otherwise.
fn left_alone(source: Prefix) -> Target {
    let notes =
        vec!["somebody changed the agent's route: left alone until the agent starts again".into()];
    Target {
        source,
        route: None,
        entry: Entry::default(),
        notes,
    }
}

fn target(
    prefix: Prefix,
    source: Prefix,
    wanted: &Parameters,
    base: Option<&Route>,
    kernel: Kernel,
    mender: &mut Mender,
) -> Target {
    let mut notes = Vec::new();
    let mut entry = entry(wanted, kernel, &mut notes);
    mender.mend(&mut entry);
    let mut route = None;
    match base {
        None => {
            notes.push("the main table has no route to it: no rto_min, initcwnd, initrwnd".into());
        }
        Some(base) => {
            spare(base, &mut entry, &mut notes);
            route = route_for(prefix, wanted, base, kernel, &mut notes);
        }
    }
    Target {
        source,
        route,
        entry,
        notes,
    }
}

fn entry(wanted: &Parameters, kernel: Kernel, notes: &mut Vec<String>) -> Entry {
    let tick_us = kernel.tick.as_micros().max(1) as u32;
    let ticks = wanted.rto_init_us.div_ceil(tick_us);
    if ticks < MIN_RTO_INIT_TICKS {
        let floor = tick_us * MIN_RTO_INIT_TICKS;
        notes.push(format!(
            "RTOinit {} us raised to {floor} us: two ticks of this kernel",
            wanted.rto_init_us
        ));
    }
    Entry {
        rto_init_ticks: ticks.max(MIN_RTO_INIT_TICKS),
        max_cwnd: wanted.max_cwnd,
        initial_cwnd: wanted.initial_cwnd,
        ..Entry::default()
    }
}

/// What others set on their route is not overruled by BPF either.
fn spare(base: &Route, entry: &mut Entry, notes: &mut Vec<String>) {
    if base.is_locked(metric::CWND) && base.metric(metric::CWND).is_some() {
        entry.max_cwnd = 0;
        notes.push(format!("'cwnd lock' of the route {} stays", base.prefix));
    }
    if base.metric(metric::INITCWND).is_some() {
        entry.initial_cwnd = 0;
    }
}

fn route_for(
    prefix: Prefix,
    wanted: &Parameters,
    base: &Route,
    kernel: Kernel,
    notes: &mut Vec<String>,
) -> Option<Route> {
    let rto_min_ms = wanted.rto_min_us.div_ceil(1000);
    let metrics = [
        (metric::RTO_MIN, "rto_min", rto_min_ms),
        (metric::INITCWND, "initcwnd", wanted.initial_cwnd),
        (metric::INITRWND, "initrwnd", wanted.initial_rwnd),
    ];
    let mut missing = false;
    for (kind, name, _) in metrics {
        match base.metric(kind) {
            Some(value) => notes.push(format!(
                "'{name} {value}' of the route {} stays",
                base.prefix
            )),
            None => missing = true,
        }
    }
    if base.metric(metric::RTO_MIN).is_none()
        && Duration::from_millis(rto_min_ms.into()) < kernel.tick
    {
        notes.push(format!(
            "RTOmin {rto_min_ms} ms acts as {} ms: one tick of this kernel",
            kernel.tick.as_millis()
        ));
    }
    if let (Some(theirs), Some(_)) = (base.control(), kernel.control) {
        notes.push(format!(
            "'congctl {theirs}' of the route {} stays",
            base.prefix
        ));
    }
    missing |= kernel.control.is_some() && base.control().is_none();
    let metrics = metrics.map(|(kind, _, value)| (kind, value));
    let route = missing.then(|| base.with(prefix, &metrics, kernel.control))?;
    if route.is_none() {
        notes.push(format!(
            "the route {} has metric 1: none can stand before it, no rto_min, initcwnd, initrwnd",
            base.prefix
        ));
    }
    route
}

/// What has to be done for the host to be as planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Routes to add, before any is removed.
    pub add: Vec<Route>,
    /// Routes of the agent to remove.
    pub remove: Vec<Route>,
    /// Entries of the BPF program to set.
    pub set: Vec<(Prefix, Entry)>,
    /// Entries to remove.
    pub unset: Vec<Prefix>,
}

impl Changes {
    /// From what the agent has on the host to what is planned. Without BPF (`entries` is None) there are no entries.
    pub fn new(
        plan: &Plan,
        routes: &BTreeMap<Prefix, Route>,
        entries: Option<&BTreeMap<Prefix, Entry>>,
    ) -> Self {
        let mut changes = Self::default();
        for (prefix, target) in plan {
            match (routes.get(prefix), &target.route) {
                (Some(old), Some(new)) if old == new => {}
                (old, new) => {
                    // A new IPv6 route takes the place of the old one with its metric.
                    let takes_place = |old: &&Route| {
                        !new.as_ref()
                            .is_some_and(|new| !prefix.is_v4() && new.priority == old.priority)
                    };
                    changes.add.extend(new.clone());
                    changes.remove.extend(old.filter(takes_place).cloned());
                }
            }
            if entries.is_some_and(|entries| entries.get(prefix) != Some(&target.entry)) {
                changes.set.push((*prefix, target.entry));
            }
        }
        let gone = |prefix: &&Prefix| !plan.contains_key(prefix);
        changes.remove.extend(
            routes
                .values()
                .filter(|route| gone(&&route.prefix))
                .cloned(),
        );
        changes
            .unset
            .extend(entries.into_iter().flat_map(BTreeMap::keys).filter(gone));
        changes
    }

    /// True if nothing has to be done.
    pub fn is_empty(&self) -> bool {
        self.add.is_empty()
            && self.remove.is_empty()
            && self.set.is_empty()
            && self.unset.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::route::tests::route;
    use proptest::prelude::*;

    const KERNEL: Kernel = Kernel {
        tick: Duration::from_millis(4),
        spacing: Spacing {
            linear: 4,
            longest: Duration::from_secs(120),
        },
        control: None,
    };
    const RACK: Parameters = Parameters {
        rto_min_us: 5500,
        rto_init_us: 12_500,
        max_cwnd: 53,
        initial_cwnd: 2,
        initial_rwnd: 53,
    };

    fn p(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    fn document(prefixes: &[&str]) -> BTreeMap<Prefix, Parameters> {
        prefixes.iter().map(|text| (p(text), RACK)).collect()
    }

    fn plan_of(prefixes: &[&str], others: &[Route]) -> Plan {
        plan(&document(prefixes), others, &BTreeSet::new(), KERNEL)
    }

    #[test]
    fn a_congestion_control_goes_by_route_unless_others_have_set_one() {
        let dctcp: Control = "dctcp".parse().unwrap();
        let kernel = Kernel {
            control: Some(dctcp),
            ..KERNEL
        };
        let document = document(&["10.0.1.0/24"]);
        let base = route("10.0.0.0/8", 0, &[]);
        let planned = |base: &Route| {
            plan(
                &document,
                std::slice::from_ref(base),
                &BTreeSet::new(),
                kernel,
            )[&p("10.0.1.0/24")]
                .clone()
        };
        let ours = planned(&base).route.unwrap();
        assert_eq!(ours.control(), Some(dctcp));
        let theirs = base
            .with(base.prefix, &[], Some("reno".parse().unwrap()))
            .unwrap();
        let target = planned(&theirs);
        assert_eq!(
            target.route.unwrap().control(),
            Some("reno".parse().unwrap())
        );
        assert!(
            target
                .notes
                .iter()
                .any(|note| note.contains("'congctl reno'"))
        );
    }

    #[test]
    fn timeouts_are_rounded_up_and_windows_not_at_all() {
        let plan = plan_of(&["10.0.1.0/24"], &[route("0.0.0.0/0", 0, &[])]);
        let target = &plan[&p("10.0.1.0/24")];
        let ours = target.route.as_ref().unwrap();
        assert_eq!(ours.metric(metric::RTO_MIN), Some(6));
        assert_eq!(ours.metric(metric::INITCWND), Some(2));
        assert_eq!(ours.metric(metric::INITRWND), Some(53));
        assert_eq!(
            (
                target.entry.rto_init_ticks,
                target.entry.max_cwnd,
                target.entry.initial_cwnd
            ),
            (4, 53, 2)
        );
        assert!(target.notes.is_empty(), "{:?}", target.notes);
    }

    #[test]
    fn what_the_kernel_cannot_is_raised_and_said() {
        let low = Parameters {
            rto_min_us: 1000,
            rto_init_us: 4138,
            ..RACK
        };
        let routes = [route("10.0.0.0/8", 0, &[])];
        let plan = plan(
            &[(p("10.0.1.0/24"), low)].into(),
            &routes,
            &BTreeSet::new(),
            KERNEL,
        );
        let target = &plan[&p("10.0.1.0/24")];
        assert_eq!(target.entry.rto_init_ticks, 2);
        assert_eq!(
            target.notes,
            ["RTOmin 1 ms acts as 4 ms: one tick of this kernel"]
        );
        let lower = Parameters {
            rto_init_us: 3000,
            ..low
        };
        let mut notes = Vec::new();
        assert_eq!(entry(&lower, KERNEL, &mut notes).rto_init_ticks, 2);
        assert_eq!(
            notes,
            ["RTOinit 3000 us raised to 8000 us: two ticks of this kernel"]
        );
    }

    #[test]
    fn narrower_routes_within_get_theirs() {
        let others = [
            route("0.0.0.0/0", 0, &[]),
            route("10.0.1.0/24", 0, &[]),
            route("192.168.0.0/16", 0, &[]),
        ];
        let plan = plan_of(&["10.0.0.0/8"], &others);
        assert_eq!(
            plan.keys().copied().collect::<Vec<_>>(),
            [p("10.0.0.0/8"), p("10.0.1.0/24")]
        );
        assert!(
            plan.values()
                .all(|target| target.source == p("10.0.0.0/8") && target.route.is_some())
        );
    }

    #[test]
    fn the_longest_destination_counts() {
        let mut document = document(&["10.0.0.0/8"]);
        document.insert(
            p("10.0.0.0/16"),
            Parameters {
                max_cwnd: 7,
                ..RACK
            },
        );
        let others = [route("0.0.0.0/0", 0, &[]), route("10.0.1.0/24", 0, &[])];
        let plan = plan(&document, &others, &BTreeSet::new(), KERNEL);
        assert_eq!(plan[&p("10.0.1.0/24")].entry.max_cwnd, 7);
        assert_eq!(plan[&p("10.0.0.0/8")].entry.max_cwnd, 53);
    }

    #[test]
    fn metrics_of_others_stay() {
        let lock = 1 << metric::CWND;
        let base = route(
            "10.0.1.0/24",
            0,
            &[
                (metric::LOCK, lock),
                (metric::CWND, 9),
                (metric::INITCWND, 20),
            ],
        );
        let plan = plan_of(&["10.0.1.0/24"], &[base]);
        let target = &plan[&p("10.0.1.0/24")];
        assert_eq!(
            target.route.as_ref().unwrap().metric(metric::INITCWND),
            Some(20)
        );
        assert_eq!((target.entry.max_cwnd, target.entry.initial_cwnd), (0, 0));
        assert_eq!(
            target.notes,
            [
                "'cwnd lock' of the route 10.0.1.0/24 stays",
                "'initcwnd 20' of the route 10.0.1.0/24 stays"
            ]
        );
        let all = route(
            "10.0.1.0/24",
            0,
            &[
                (metric::INITCWND, 20),
                (metric::RTO_MIN, 9),
                (metric::INITRWND, 30),
            ],
        );
        let plan = plan_of(&["10.0.1.0/24"], &[all]);
        assert!(
            plan[&p("10.0.1.0/24")].route.is_none(),
            "nothing is left to set"
        );
    }

    #[test]
    fn the_best_of_several_routes_is_followed() {
        let others = [
            route("10.0.1.0/24", 200, &[]),
            route("10.0.1.0/24", 100, &[]),
            route("10.0.1.0/24", 300, &[]),
        ];
        let plan = plan_of(&["10.0.1.0/24"], &others);
        assert_eq!(plan[&p("10.0.1.0/24")].route.as_ref().unwrap().priority, 99);
    }

    #[test]
    fn given_up_is_left_alone_under_a_wider_destination() {
        let others = [route("10.0.0.0/8", 0, &[]), route("10.0.1.0/24", 0, &[])];
        let plan = plan(
            &document(&["10.0.0.0/8"]),
            &others,
            &[p("10.0.1.0/24")].into(),
            KERNEL,
        );
        let target = &plan[&p("10.0.1.0/24")];
        assert_eq!(
            (target.route.clone(), target.entry),
            (None, Entry::default())
        );
        assert!(plan[&p("10.0.0.0/8")].route.is_some());
    }

    #[test]
    fn without_a_route_bpf_does_its_part() {
        let plan = plan_of(&["10.0.1.0/24"], &[]);
        let target = &plan[&p("10.0.1.0/24")];
        assert!(target.route.is_none());
        assert_eq!(target.entry.max_cwnd, 53);
    }

    #[test]
    fn changes_lead_to_the_plan_and_then_there_are_none() {
        let plan = plan_of(
            &["10.0.1.0/24", "fd00::/64"],
            &[route("0.0.0.0/0", 0, &[]), route("fd00::/8", 9, &[])],
        );
        let changes = Changes::new(&plan, &BTreeMap::new(), Some(&BTreeMap::new()));
        assert_eq!(
            (changes.add.len(), changes.remove.len(), changes.set.len()),
            (2, 0, 2)
        );
        let routes: BTreeMap<_, _> = changes
            .add
            .into_iter()
            .map(|route| (route.prefix, route))
            .collect();
        let entries: BTreeMap<_, _> = changes.set.into_iter().collect();
        assert!(Changes::new(&plan, &routes, Some(&entries)).is_empty());
        let back = Changes::new(&Plan::new(), &routes, Some(&entries));
        assert_eq!(
            (back.remove.len(), back.unset.len(), back.add.len()),
            (2, 2, 0)
        );
        assert!(Changes::new(&plan, &routes, None).is_empty());
    }

    #[test]
    fn a_changed_route_is_added_before_the_old_one_goes() {
        let others = [route("0.0.0.0/0", 0, &[]), route("::/0", 5, &[])];
        let (old, new) = (plan_of(&["10.0.1.0/24", "fd00::/64"], &others), {
            let faster = Parameters {
                rto_min_us: 1000,
                ..RACK
            };
            plan(
                &[(p("10.0.1.0/24"), faster), (p("fd00::/64"), faster)].into(),
                &others,
                &BTreeSet::new(),
                KERNEL,
            )
        });
        let routes = old
            .iter()
            .map(|(prefix, target)| (*prefix, target.route.clone().unwrap()))
            .collect();
        let changes = Changes::new(&new, &routes, None);
        assert_eq!(changes.add.len(), 2);
        assert_eq!(
            changes.remove,
            [routes[&p("10.0.1.0/24")].clone()],
            "IPv6's is replaced"
        );
    }

    proptest! {
        /// Whatever the routes: every destination is planned, and no route of the agent's says less than its base.
        #[test]
        fn plans_are_whole(lengths in proptest::collection::vec((8_u8..30, any::<u32>(), 0_u32..3), 0..20)) {
            let others: Vec<Route> = lengths.iter().map(|(length, bits, priority)| {
                let address = (10 << 24 | bits >> 8) & (u32::MAX << (32 - length));
                route(&format!("{}/{length}", std::net::Ipv4Addr::from(address)), *priority, &[(metric::INITCWND, 20)])
            }).collect();
            let plan = plan_of(&["10.0.0.0/8", "10.64.0.0/10"], &others);
            prop_assert!(plan.contains_key(&p("10.0.0.0/8")) && plan.contains_key(&p("10.64.0.0/10")));
            for (prefix, target) in plan {
                prop_assert!(target.source.covers(&prefix));
                if let Some(ours) = target.route {
                    prop_assert!(ours.is_ours() && ours.prefix == prefix);
                    prop_assert_eq!(ours.metric(metric::INITCWND), Some(20));
                    let before = others.iter().filter(|r| r.prefix == prefix).all(|r| ours.priority <= r.priority);
                    prop_assert!(before);
                }
            }
        }
    }
}
