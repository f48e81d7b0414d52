//! A histogram with bins of constant relative width.

use std::collections::BTreeMap;

/// Sub-bins in each power of two: bins are at most 1/256 of their value wide.
const BITS: u32 = 8;

/// Bins that are counted side by side, in one line of the processor's cache.
const PAGE: usize = 64;

/// No page: nothing was counted there.
const NONE: u16 = u16::MAX;

/// Counts of values by series. There is one for each rack pair, and of most pairs few values: only where there are some is a page
/// of bins, and a bin is a byte, beside which what it cannot hold is kept.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    series: usize,
    /// The number of the page by place among a series' pages, then by series.
    numbers: Vec<u16>,
    pages: Vec<[u8; PAGE]>,
    /// How often a bin has come to 256, by place among all bins of all pages.
    carried: BTreeMap<u32, u64>,
}

impl Histogram {
    pub(crate) fn new(series: usize) -> Histogram {
        Histogram {
            series,
            numbers: Vec::new(),
            pages: Vec::new(),
            carried: BTreeMap::new(),
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, series: usize, value: u64) {
        let bin = index_of(value);
        let place = bin / PAGE * self.series + series;
        let number = self.numbers.get(place).map_or(NONE, |&number| number);
        let Some(page) = self.pages.get_mut(usize::from(number)) else {
            return self.open(place, bin);
        };
        let count = &mut page[bin % PAGE];
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.carry(number, bin);
        }
    }

    /// The first value of a page.
    #[cold]
    fn open(&mut self, place: usize, bin: usize) {
        if self.numbers.len() <= place {
            self.numbers.resize(place + 1, NONE);
        }
        self.numbers[place] = self.pages.len() as u16; // of 64-bit values there are 233 pages a series
        let mut page = [0; PAGE];
        page[bin % PAGE] = 1;
        self.pages.push(page);
    }

    #[cold]
    fn carry(&mut self, number: u16, bin: usize) {
        *self.carried.entry(slot(number, bin)).or_default() += 1;
    }

    /// How many values a series has.
    pub(crate) fn total(&self, series: usize) -> u64 {
        self.bins(series).map(|(_, _, count)| count).sum()
    }

    /// Nonempty bins of a series as (lower, upper, count), upper excluded.
    pub(crate) fn bins(&self, series: usize) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let numbers = self.numbers.iter().skip(series).step_by(self.series);
        let pages = numbers.enumerate().filter(|(_, number)| **number != NONE);
        pages.flat_map(move |(place, &number)| {
            (0..PAGE).filter_map(move |within| {
                let carried = self.carried.get(&slot(number, within)).copied();
                let count = u64::from(self.pages[usize::from(number)][within]);
                let count = count + (carried.unwrap_or_default() << u8::BITS);
                let index = place * PAGE + within;
                (count > 0).then(|| (lower_bound(index), lower_bound(index + 1), count))
            })
        })
    }
}

/// A bin's place among all bins of all pages.
fn slot(number: u16, bin: usize) -> u32 {
    u32::from(number) * PAGE as u32 + (bin % PAGE) as u32
}

#[inline]
fn index_of(value: u64) -> usize {
    let magnitude = 63 - (value | 1).leading_zeros();
    let shift = magnitude.saturating_sub(BITS);
    ((u64::from(shift) << BITS) + (value >> shift)) as usize
}

fn lower_bound(index: usize) -> u64 {
    let index = index as u64;
    let shift = (index >> BITS).saturating_sub(1);
    (index - (shift << BITS)) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_lies_in_its_bin_and_bins_are_narrow(value in 0u64..1 << 50) {
            let mut h = Histogram::new(3);
            h.record(1, value);
            let (lower, upper, count) = h.bins(1).next().unwrap();
            prop_assert_eq!(count, 1);
            prop_assert!(lower <= value && value < upper);
            prop_assert!(upper - lower <= (lower >> 8).max(1));
        }

        #[test]
        fn counts_what_a_map_counts(
            values in prop::collection::vec((0usize..2, 0u32..40, 0u64..400), 1..300),
            often in 1u64..700,
        ) {
            let mut h = Histogram::new(2);
            let mut expected = [BTreeMap::new(), BTreeMap::new()];
            for (series, shift, value) in values {
                let value = value << shift;
                for _ in 0..often {
                    h.record(series, value);
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
