//! Numbers as a sequence of little-endian 64-bit words.

use alloc::vec::Vec;

use crate::setup::SetupError;

/// Appends words.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn word(&mut self, value: impl Into<u64>) {
        self.bytes.extend_from_slice(&value.into().to_le_bytes());
    }

    /// Whether there is a value, then the value or 0.
    pub(crate) fn option(&mut self, value: Option<impl Into<u64>>) {
        self.word(value.is_some());
        self.word(value.map_or(0, Into::into));
    }

    pub(crate) fn length(&mut self, items: usize) {
        self.word(items as u64);
    }
}

/// Takes words from the front.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) rest: &'a [u8],
}

impl Reader<'_> {
    pub(crate) fn word(&mut self) -> Result<u64, SetupError> {
        let (word, rest) = self.rest.split_first_chunk().ok_or(SetupError::Short)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*word))
    }

    /// A word whose value fits into fewer bits.
    pub(crate) fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, SetupError> {
        T::try_from(self.word()?).map_err(|_| SetupError::Range)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, SetupError> {
        match self.word()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(SetupError::Range),
        }
    }

    pub(crate) fn option<T: TryFrom<u64>>(&mut self) -> Result<Option<T>, SetupError> {
        let some = self.flag()?;
        let value = self.narrow()?;
        Ok(some.then_some(value))
    }

    /// The number of items that follow, each of at least one word: no more than there are words.
    pub(crate) fn length(&mut self) -> Result<usize, SetupError> {
        let items = self.narrow::<usize>()?;
        if items > self.rest.len() / 8 {
            return Err(SetupError::Short);
        }
        Ok(items)
    }

    /// So many items.
    pub(crate) fn list<T>(
        &mut self,
        item: impl Fn(&mut Self) -> Result<T, SetupError>,
    ) -> Result<Vec<T>, SetupError> {
        let items = self.length()?;
        (0..items).map(|_| item(self)).collect()
    }
}
