//! A histogram with bins of constant relative width.

/// Sub-bins in each power of two: bins are at most 1/256 of their value wide.
const BITS: u32 = 8;

/// Counts of values; memory grows with the logarithm of the largest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        let index = index_of(value);
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

    /// Nonempty bins as (lower, upper, count), upper excluded.
    pub(crate) fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts
            .iter()
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
            let mut h = Histogram::default();
            h.record(value);
            let (lower, upper, count) = h.bins().next().unwrap();
            prop_assert_eq!(count, 1);
            prop_assert!(lower <= value && value < upper);
            prop_assert!(upper - lower <= (lower >> 8).max(1));
        }
    }
}
