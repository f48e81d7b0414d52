// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables: named columns of equal length.

use std::borrow::Cow;

use etalon_scenario::PlaneFacts;

/// A column of a table.
#[derive(Clone, Debug)]
pub enum Column {
    /// Integers.
    Integers(Vec<i64>),
    /// Floating-point numbers.
    Floats(Vec<f64>),
    /// Text.
    Text(Vec<String>),
    /// Text of few values, with the place of each row's value among them: for tables with millions of rows.
    Names {
        /// The values.
        names: Vec<&'static str>,
        /// One a row.
        rows: Vec<u8>,
    },
}

/// Named columns of equal length.
pub type Table = Vec<(Cow<'static, str>, Column)>;

/// A table of columns whose names do not depend on the run.
pub(crate) fn named<const N: usize>(columns: [(&'static str, Column); N]) -> Table {
    let owned = |(name, column)| (Cow::Borrowed(name), column);
    columns.into_iter().map(owned).collect()
}

/// A column for each plane, called by the plane's name and what follows.
pub(crate) fn by_plane<'a>(
    planes: &'a [PlaneFacts],
    what: &'a str,
    column: impl Fn(usize) -> Column + 'a,
) -> impl Iterator<Item = (Cow<'static, str>, Column)> + 'a {
    let one = move |(index, plane): (usize, &PlaneFacts)| {
        (format!("{}_{what}", plane.name).into(), column(index))
    };
    let there = planes
        .iter()
        .enumerate()
        .filter(|(_, plane)| plane.exists());
    there.map(one)
}

/// A column of integers, one a row.
pub(crate) fn integers<R>(rows: &[R], f: impl Fn(&R) -> i64) -> Column {
    Column::Integers(rows.iter().map(f).collect())
}
