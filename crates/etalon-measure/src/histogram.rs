// SPDX-License-Identifier: MIT OR Apache-2.0
//! A histogram with bins of constant relative width.

use std::collections::BTreeMap;

/// Sub-bins in each power of two: bins are at most 1/256 of their value wide.
const BITS: u32 = 8;

/// So many values are kept one by one before they are counted in bins.
const FEW: usize = 128;

/// Bins are added so many at a time.
const STEP: usize = 64;

/// Counts of values by series. There is one for each rack pair, and of most pairs few values: these are kept as they are. Beyond that
/// bins are counted from about the smallest value to about the largest; those of a value lie side by side, so that a count is one
/// look-up away. A bin is 16 bits, beside which what it cannot hold is kept.
#[derive(Clone, Debug)]
#[repr(C)] // what each value needs comes first
pub(crate) struct Histogram {
    /// By place, from the first bin's on: empty while there are few values.
    counts: Vec<u16>,
    /// The first bin's place.
    from: usize,
    series: usize,
    /// The place of each value, while there are few.
    few: Vec<u32>,
    /// How often a bin has come to 65,536, by place.
    carried: BTreeMap<usize, u64>,
}

impl Histogram {
    pub(crate) fn new(series: usize) -> Histogram {
        Histogram {
            series,
            few: Vec::new(),
            from: 0,
            counts: Vec::new(),
            carried: BTreeMap::new(),
        }
    }

    /// False if that takes more than a look-up, and is left to [`Histogram::record_elsewhere`]: the first value is.
    #[inline]
    pub(crate) fn record(&mut self, series: usize, value: u64) -> bool {
        let place = index_of(value) * self.series + series;
        match self.counts.get_mut(place.wrapping_sub(self.from)) {
            Some(count) if *count != u16::MAX => {
                *count += 1;
                true
            }
            _ => false,
        }
    }

    /// A value for which there is no bin, or one that is full.
    #[cold]
    pub(crate) fn record_elsewhere(&mut self, series: usize, value: u64) {
        let place = index_of(value) * self.series + series;
        if self.counts.is_empty() {
            if self.few.len() < FEW {
                self.few.push(place as u32);
                return;
            }
            for place in std::mem::take(&mut self.few) {
                self.count(place as usize);
            }
        }
        self.count(place);
    }

    /// Counts a value, for which a bin is made if there is none.
    fn count(&mut self, place: usize) {
        let step = STEP * self.series;
        if self.counts.is_empty() {
            self.from = place / step * step;
        }
        if place < self.from {
            let more = self.from - place / step * step;
            self.from -= more;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
        }
        let end = (place / step + 1) * step - self.from;
        if end > self.counts.len() {
            self.counts.reserve_exact(end - self.counts.len());
            self.counts.resize(end, 0);
        }
        let count = &mut self.counts[place - self.from];
        match count.checked_add(1) {
            Some(more) => *count = more,
            None => {
                *count = 0;
                *self.carried.entry(place).or_default() += 1;
            }
        }
    }

    /// How many values a series has.
    pub(crate) fn total(&self, series: usize) -> u64 {
        self.places()
            .filter(|&(place, count)| count > 0 && place % self.series == series)
            .map(|(_, count)| count)
            .sum()
    }

    /// Nonempty bins of a series as (lower, upper, count), upper excluded.
    pub(crate) fn bins(&self, series: usize) -> impl Iterator<Item = (u64, u64, u64)> {
        let mut bins = BTreeMap::new();
        for (place, count) in self.places() {
            if count > 0 && place % self.series == series {
                *bins.entry(place / self.series).or_insert(0) += count;
            }
        }
        let bounds = |(index, count)| (lower_bound(index), lower_bound(index + 1), count);
        bins.into_iter().map(bounds)
    }

    /// Counts by place; those of a place are to be added.
    fn places(&self) -> impl Iterator<Item = (usize, u64)> {
        let few = self.few.iter().map(|&place| (place as usize, 1));
        let counts = self.counts.iter().enumerate();
        let counted = counts.map(|(at, &count)| (self.from + at, u64::from(count)));
        let carried = self.carried.iter();
        let carried = carried.map(|(&place, &times)| (place, times << u16::BITS));
        few.chain(counted).chain(carried)
    }
}

#[inline]
pub(crate) fn index_of(value: u64) -> usize {
    let shift = u64::BITS - 1 - BITS - (value | 1 << BITS).leading_zeros();
    ((u64::from(shift) << BITS) + (value >> shift)) as usize
}

pub(crate) fn lower_bound(index: usize) -> u64 {
    let index = index as u64;
    let shift = (index >> BITS).saturating_sub(1);
    (index - (shift << BITS)) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(h: &mut Histogram, series: usize, value: u64) {
        if !h.record(series, value) {
            h.record_elsewhere(series, value);
        }
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_bin_and_bins_are_narrow(value in 0u64..1 << 50) {
            let mut h = Histogram::new(3);
            record(&mut h, 1, value);
            let (lower, upper, count) = h.bins(1).next().unwrap();
            prop_assert_eq!(count, 1);
            prop_assert!(lower <= value && value < upper);
            prop_assert!(upper - lower <= (lower >> 8).max(1));
        }

        #[test]
        fn counts_what_a_map_counts(
            values in prop::collection::vec((0usize..2, 0u32..40, 0u64..400), 1..60),
            often in prop_oneof![19 => 1u64..5, 1 => 65_000u64..66_000],
        ) {
            let mut h = Histogram::new(2);
            let mut expected = [BTreeMap::new(), BTreeMap::new()];
            for (series, shift, value) in values {
                let value = value << shift;
                for _ in 0..often {
                    record(&mut h, series, value);
                }
                *expected[series].entry(lower_bound(index_of(value))).or_default() += often;
            }
            for (series, expected) in expected.into_iter().enumerate() {
                prop_assert_eq!(h.total(series), expected.values().sum::<u64>());
                let bins: Vec<_> = h.bins(series).map(|(lower, _, count)| (lower, count)).collect();
                prop_assert_eq!(bins, expected.into_iter().collect::<Vec<_>>());
            }
        }
    }
}
