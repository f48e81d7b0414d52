//! A histogram with bins of constant relative width.

/// Sub-bins in each power of two: bins are at most 1/256 of their value wide.
const BITS: u32 = 8;

/// Counts of values by series: those of a value lie side by side, so that a count is one look-up away. Memory grows with the
/// logarithm of the largest value.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    series: usize,
    counts: Vec<u64>,
}

impl Histogram {
    pub(crate) fn new(series: usize) -> Histogram {
        Histogram {
            series,
            counts: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, series: usize, value: u64) {
        let index = index_of(value) * self.series + series;
        match self.counts.get_mut(index) {
            Some(count) => *count += 1,
            None => self.grow(index),
        }
    }

    /// The first value in the last bin.
    #[cold]
    fn grow(&mut self, index: usize) {
        self.counts.resize(index, 0);
        self.counts.push(1);
    }

    /// How many values a series has.
    pub(crate) fn total(&self, series: usize) -> u64 {
        self.counts.iter().skip(series).step_by(self.series).sum()
    }

    /// Nonempty bins of a series as (lower, upper, count), upper excluded.
    pub(crate) fn bins(&self, series: usize) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let counts = self.counts.iter().skip(series).step_by(self.series);
        counts
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, count)| (lower_bound(index), lower_bound(index + 1), *count))
    }
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
    }
}
