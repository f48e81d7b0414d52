// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host below TCP: a NIC that serialises, then a constant delay and a random jitter, in order.

use etalon_queues::Fifo;
use etalon_scenario::Nights;
use etalon_units::{Serializer, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// A host's way to the network, for packets with handles of type `H`. Packets stay in order whatever their jitter.
#[derive(Debug)]
pub(crate) struct Host<H> {
    nic: Serializer,
    delay: Span,
    jitter: Span,
    rng: ChaCha8Rng,
    last: Time,
    pipe: Fifo<(Time, H)>,
}

impl<H: Copy> Host<H> {
    /// Host number `index`, whose packets are delayed by `delay` and by up to `jitter`, uniformly distributed and drawn from
    /// ChaCha8 stream `index` of `seed`.
    pub(crate) fn new(
        nic: Serializer,
        delay: Span,
        jitter: Span,
        seed: u64,
        index: u64,
    ) -> Host<H> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(index);
        Host {
            nic,
            delay,
            jitter,
            rng,
            last: Time::ZERO,
            pipe: Fifo::default(),
        }
    }

    /// The NIC starts nothing in nights: it has a packet to send `now`.
    pub(crate) fn hold(&mut self, now: Time, nights: &Nights) {
        let ready = now.max(self.nic.free_at());
        self.nic.rest_until(nights.held_until(ready));
    }

    /// Queues a packet of `bytes` on the wire. Returns when the NIC is done with it, and when it reaches the network if it is the only
    /// one on its way (whose event the caller schedules).
    #[inline(always)] // a call for every packet, and nothing else
    pub(crate) fn send(&mut self, now: Time, bytes: u32, handle: H) -> (Time, Option<Time>) {
        let done = self.nic.transmit(now, bytes);
        let mut arrival = done + self.delay;
        if self.jitter > Span::ZERO {
            // A multiplication instead of a remainder: uniform over [0, jitter) up to 2^-32.
            arrival.0 += (u64::from(self.rng.next_u32()) * self.jitter.0) >> 32;
        }
        self.last = self.last.max(arrival);
        let first = self.pipe.is_empty().then_some(self.last);
        self.pipe.push_back((self.last, handle));
        (done, first)
    }

    /// Takes the packet that reaches the network now, and has it said when the next does.
    #[inline(always)] // with every packet
    pub(crate) fn arrive(&mut self, then: impl FnOnce(Option<Time>)) -> Option<H> {
        let handle = self.pipe.front()?.1;
        // In each case by itself: a time that there may be would be put into memory first.
        match self.pipe.drop_front() {
            Some(next) => then(Some(next.0)),
            None => then(None),
        }
        Some(handle)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use etalon_units::Rate;

    use super::*;

    #[test]
    fn a_host_serialises_delays_and_keeps_the_order() {
        let nic = || Serializer::new(Rate(8_000_000_000));
        let mut host = Host::new(nic(), Span(500), Span::ZERO, 1, 0);
        // 1000 bytes take 1000 ns.
        assert_eq!(
            host.send(Time(0), 1000, 'a'),
            (Time(1000), Some(Time(1500)))
        );
        assert_eq!(host.send(Time(0), 1000, 'b'), (Time(2000), None));
        let mut next = Some(Time(1500));
        assert_eq!(host.arrive(|time| next = time), Some('a'));
        assert_eq!(next, Some(Time(2500)));
        assert_eq!(host.arrive(|time| next = time), Some('b'));
        assert_eq!(next, None);
        assert_eq!(host.arrive(|_| unreachable!("nothing comes")), None);

        let arrivals = |index| {
            let mut host = Host::new(nic(), Span(500), Span(10_000), 1, index);
            let (_, mut next) = host.send(Time(0), 100, 0);
            for i in 1..100 {
                host.send(Time(0), 100, i);
            }
            let mut times = Vec::new();
            while let Some(time) = next {
                times.push(time.0);
                host.arrive(|time| next = time);
            }
            times
        };
        let times = arrivals(0);
        assert!(times.is_sorted());
        let late = |(i, time): (usize, &u64)| time - (100 * (i as u64 + 1) + 500);
        let jitter: Vec<u64> = times.iter().enumerate().map(late).collect();
        assert!(jitter.iter().all(|&j| j < 10_000) && jitter.iter().any(|&j| j > 5000));
        assert_eq!(times, arrivals(0));
        assert_ne!(times, arrivals(1));
    }
}
