//! A host below TCP: a NIC that serialises, then a constant delay and a random jitter, in order.

use etalon_units::{Serializer, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::fifo::Fifo;

/// A host's way to the network, for packets with handles of type `H`. Packets stay in order whatever their jitter.
#[derive(Debug)]
pub struct Host<H> {
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
    #[must_use]
    pub fn new(nic: Serializer, delay: Span, jitter: Span, seed: u64, index: u64) -> Host<H> {
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

    /// Queues a packet of `bytes` on the wire. Returns when the NIC is done with it, and when it reaches the network if it is the only
    /// one on its way (whose event the caller schedules).
    #[inline(always)] // a call for every packet, and nothing else
    pub fn send(&mut self, now: Time, bytes: u32, handle: H) -> (Time, Option<Time>) {
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

    /// Takes the packet that reaches the network now.
    #[inline]
    pub fn arrive(&mut self) -> Option<H> {
        self.pipe.pop_front().map(|(_, handle)| handle)
    }

    /// When the next packet reaches the network.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.pipe.front().map(|(time, _)| *time)
    }
}
