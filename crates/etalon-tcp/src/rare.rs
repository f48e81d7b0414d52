// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that most ends of a connection never need, such as that of a sender at an end that only receives: it takes no memory until it is
//! first changed. Until then all read one that is as it begins.

use core::fmt;
use core::ops::{Deref, DerefMut};

/// What begins in the same state at every connection.
pub(crate) trait Fresh: Clone + 'static {
    /// That state.
    fn fresh() -> &'static Self;
}

/// Such state.
#[derive(Clone)]
pub(crate) struct Rare<T>(Option<Box<T>>);

impl<T> Default for Rare<T> {
    fn default() -> Rare<T> {
        Rare(None)
    }
}

impl<T> Rare<T> {
    /// It, if it was ever changed.
    #[inline]
    pub fn changed(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The same, for those who only take something back to how it began.
    #[inline]
    pub fn changed_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Fresh> Deref for Rare<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| T::fresh())
    }
}

impl<T: Fresh> DerefMut for Rare<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(begin)
    }
}

#[cold]
fn begin<T: Fresh>() -> Box<T> {
    Box::new(T::fresh().clone())
}

impl<T: Fresh + PartialEq> Rare<T> {
    /// It in a state that may be another than the first.
    pub fn new(state: T) -> Rare<T> {
        Rare((state != *T::fresh()).then(|| Box::new(state)))
    }
}

impl<T: Fresh + PartialEq> PartialEq for Rare<T> {
    fn eq(&self, other: &Rare<T>) -> bool {
        **self == **other
    }
}

impl<T: Fresh + Eq> Eq for Rare<T> {}

/// Whether it takes memory is not to be seen.
impl<T: Fresh + fmt::Debug> fmt::Debug for Rare<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Count(u32);

    impl Fresh for Count {
        fn fresh() -> &'static Count {
            &Count(3)
        }
    }

    #[test]
    fn it_takes_memory_once_it_is_changed() {
        let mut one = Rare::<Count>::default();
        let other = one.clone();
        assert_eq!(*one, Count(3));
        assert!(one.changed().is_none() && one.changed_mut().is_none());
        assert!(Rare::new(Count(3)).changed().is_none());
        assert_eq!(Rare::new(Count(5)).changed(), Some(&Count(5)));
        one.deref_mut().0 += 1;
        assert_eq!((&*one, one.changed()), (&Count(4), Some(&Count(4))));
        assert_eq!(
            (&*other, format!("{other:?}").as_str()),
            (&Count(3), "Count(3)")
        );
        assert!(one != other);
    }
}
