// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where hosts meet the network: their links, what they say of their demand, and the experiment's milestones.

use alloc::boxed::Box;
use alloc::vec::Vec;

use etalon_queues::{Fifo, Pending};
use etalon_scenario::{CrossConnect, Hosts, Nights, Notify};
use etalon_schedule::Requests;
use etalon_units::{Serializer, Span, Time};

use crate::accounts::Accounts;
use crate::downlinks::Downlinks;
use crate::due::Due;
use crate::host::Host;
use crate::notices::Notices;

/// Instants that the whole experiment hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The warm-up is over.
    Begin,
    /// The experiment is over.
    End,
}

/// Packets of which the NIC's owner wants to hear when they have left it.
#[derive(Debug)]
struct InNics<H> {
    /// By host.
    packets: Vec<Fifo<(Time, H)>>,
    pending: Pending,
}

/// What few networks have: what concerns packets that leave the network between racks.
#[derive(Debug)]
pub(crate) struct Extras<H> {
    pub(crate) accounts: Option<Accounts>,
    pub(crate) downlinks: Option<Downlinks<H>>,
}

/// Where hosts meet the network. An engine reaches it also while it takes a packet.
#[derive(Debug)]
pub struct Edge<H> {
    config: Hosts,
    hosts: Vec<Host<H>>,
    /// When the first packet of a host's pipe reaches its ToR switch.
    arrivals: Pending,
    /// The first of all that is neither between racks nor an arrival: few look at it, and all compare with it.
    pub(crate) first: (Time, Due),
    in_nics: Option<Box<InNics<H>>>,
    /// When the controller is due, [`Time::MAX`] if there is none.
    pub(crate) week: Time,
    pub(crate) extras: Option<Box<Extras<H>>>,
    /// Where hosts are told which network leads to which rack.
    pub(crate) notices: Option<Box<Notices>>,
    /// In which hosts hold what they have, if they do.
    nights: Option<Box<Nights>>,
    /// Where circuits are asked for.
    pub(crate) requests: Option<Box<Requests>>,
    warmup: Time,
    end: Time,
    /// The last milestone that was passed.
    passed: Option<Milestone>,
}

impl<H: Copy> Edge<H> {
    /// Hosts with nothing to send; streams of `seed` are their jitter's. `warmup` must come before `end`.
    pub(crate) fn new(
        config: Hosts,
        seed: u64,
        (warmup, end): (Time, Time),
        accounts: Option<Accounts>,
        notify: Option<&Notify>,
    ) -> Edge<H> {
        let host = |index: u32| {
            let nic = Serializer::new(config.rate);
            Host::new(nic, config.delay, config.jitter, seed, index.into())
        };
        let count = config.count();
        let queue = config.downlink_queue;
        let downlinks = queue.map(|packets| Downlinks::new(config, packets));
        let extras = Extras {
            accounts,
            downlinks,
        };
        let has_extras = extras.accounts.is_some() || extras.downlinks.is_some();
        let mut edge = Edge {
            config,
            hosts: (0..count).map(host).collect(),
            arrivals: Pending::new(count as usize),
            first: (Time::MAX, Due::Milestone),
            in_nics: None,
            week: Time::MAX,
            extras: has_extras.then(|| Box::new(extras)),
            notices: notify.map(|notify| Box::new(Notices::new(&config, *notify, seed))),
            nights: None,
            requests: None,
            warmup,
            end,
            passed: None,
        };
        edge.look();
        edge
    }

    /// What hosts there are.
    #[must_use]
    pub fn hosts(&self) -> &Hosts {
        &self.config
    }

    /// The accounts of demand, where it is known from hosts.
    pub fn accounts(&mut self) -> Option<&mut Accounts> {
        self.extras.as_mut()?.accounts.as_mut()
    }

    /// A job asks for circuits, all or none of them, where circuits are asked for.
    pub fn ask(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>) {
        if let Some(requests) = &mut self.requests {
            requests.ask(now, job, circuits);
            self.look_at_requests();
        }
    }

    /// A job needs circuits no more that it was granted.
    pub fn release(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>) {
        if let Some(requests) = &mut self.requests {
            requests.release(now, job, circuits);
            self.look_at_requests();
        }
    }

    /// The controller of requests is due at another time.
    pub(crate) fn look_at_requests(&mut self) {
        if let Some(requests) = &self.requests {
            self.week = requests.next_event();
            self.look();
        }
    }

    pub(crate) fn downlinks(&mut self) -> Option<&mut Downlinks<H>> {
        self.extras.as_mut()?.downlinks.as_mut()
    }

    /// A host gives a packet of `bytes` on the wire to its NIC. Returns when the NIC is done with it.
    #[inline(always)] // with every packet
    pub fn send(&mut self, now: Time, host: u32, bytes: u32, handle: H) -> Time {
        if self.nights.is_some() {
            self.hold(now, host);
        }
        self.send_at_once(now, host, bytes, handle)
    }

    /// As [`Edge::send`], where hosts [hold](Edge::hold_in) nothing.
    #[inline(always)] // as above
    pub fn send_at_once(&mut self, now: Time, host: u32, bytes: u32, handle: H) -> Time {
        let (done, arrival) = self.hosts[host as usize].send(now, bytes, handle);
        if let Some(time) = arrival {
            self.arrivals.push(time, host);
        }
        done
    }

    #[cold]
    #[inline(never)]
    fn hold(&mut self, now: Time, host: u32) {
        if let Some(nights) = &self.nights {
            self.hosts[host as usize].hold(now, nights);
        }
    }

    /// From now on, before anything has happened, hosts start no transmission in nights.
    pub fn hold_in(&mut self, nights: Nights) {
        self.nights = Some(Box::new(nights));
    }

    /// Has the [environment](crate::Environment::nic_free) told when the NIC of `host` is done with the packet that was sent
    /// last, which is at `done`.
    pub fn tell_when_free(&mut self, host: u32, done: Time, handle: H) {
        let hosts = self.hosts.len();
        let in_nics = self.in_nics.get_or_insert_with(|| {
            Box::new(InNics {
                packets: (0..hosts).map(|_| Fifo::default()).collect(),
                pending: Pending::new(hosts),
            })
        });
        let packets = &mut in_nics.packets[host as usize];
        if packets.is_empty() {
            in_nics.pending.push(done, host);
            self.first = self.first.min((done, Due::NicFree));
        }
        packets.push_back((done, handle));
    }

    /// The experiment ends `now`, unless it was to end earlier.
    pub fn end(&mut self, now: Time) {
        self.warmup = self.warmup.min(now);
        self.end = self.end.min(now);
        self.look();
    }

    /// When the experiment ends, as known now.
    #[must_use]
    pub fn last_instant(&self) -> Time {
        self.end
    }

    /// The next milestone, [`Time::MAX`] when all are passed.
    #[must_use]
    #[inline]
    pub fn milestone(&self) -> Time {
        match self.passed {
            None => self.warmup,
            Some(Milestone::Begin) => self.end,
            Some(Milestone::End) => Time::MAX,
        }
    }

    /// Whether the experiment is over.
    #[must_use]
    #[inline]
    pub fn is_over(&self) -> bool {
        self.passed == Some(Milestone::End)
    }

    /// Passes the next milestone, and says which. It is the end if none is left.
    pub fn pass(&mut self) -> Milestone {
        let milestone = match self.passed {
            None => Milestone::Begin,
            Some(_) => Milestone::End,
        };
        self.passed = Some(milestone);
        self.look();
        milestone
    }

    /// The last instant at which hosts' packets can arrive.
    pub(crate) fn latest(&self) -> Time {
        self.arrivals.latest()
    }

    /// When the next packet reaches its ToR switch.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.arrivals.next()
    }

    /// When the environment next hears of something, if no packet passes the network; one that has not reached it passes it in
    /// `passage` at least.
    pub(crate) fn next_heard(&self, passage: Span) -> Time {
        let arrival = self.arrivals.next().saturating_add(passage);
        let mut first = self.milestone().min(arrival);
        if let Some(in_nics) = &self.in_nics {
            first = first.min(in_nics.pending.next());
        }
        first.min(self.delivery()).min(self.notification())
    }

    fn notification(&self) -> Time {
        self.notices.as_ref().map_or(Time::MAX, |n| n.next())
    }

    fn delivery(&self) -> Time {
        let extras = self.extras.as_deref();
        extras
            .and_then(|extras| extras.downlinks.as_ref())
            .map_or(Time::MAX, Downlinks::next)
    }

    /// Looks what comes first.
    pub(crate) fn look(&mut self) {
        let [first, others @ ..] = Due::OF_AN_EDGE;
        self.first = others
            .iter()
            .fold((self.next(first), first), |first, &due| {
                first.min((self.next(due), due))
            });
    }

    /// When something of this kind is due.
    #[inline(always)] // each kind is known where this is called
    fn next(&self, due: Due) -> Time {
        match due {
            Due::Milestone => self.milestone(),
            Due::NicFree => self
                .in_nics
                .as_ref()
                .map_or(Time::MAX, |in_nics| in_nics.pending.next()),
            Due::Week => self.week,
            Due::Notification => self.notification(),
            Due::Delivery => self.delivery(),
            Due::Network | Due::Arrival | Due::Engine => Time::MAX,
        }
    }

    /// Takes the first packet with which its NIC is done, and says of which host.
    pub(crate) fn leave_nic(&mut self) -> Option<(u32, H)> {
        let in_nics = self.in_nics.as_mut()?;
        let host = in_nics.pending.first()?;
        let packets = &mut in_nics.packets[host as usize];
        let packet = packets.pop_front();
        let next = packets.front().map(|entry| entry.0);
        in_nics.pending.move_first(host, next);
        self.look();
        Some((host, packet?.1))
    }

    /// Takes the first packet that reaches its ToR switch.
    #[inline(always)] // with every packet
    pub(crate) fn arrive(&mut self) -> Option<H> {
        let Edge {
            hosts, arrivals, ..
        } = self;
        let host = arrivals.first_if_any();
        hosts
            .get_mut(host as usize)?
            .arrive(|next| arrivals.move_first(host, next))
    }
}
