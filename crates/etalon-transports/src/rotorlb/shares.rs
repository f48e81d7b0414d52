// SPDX-License-Identifier: MIT OR Apache-2.0
//! Max-min fair shares in whole packets.

use alloc::vec;
use alloc::vec::Vec;

/// Rounds in which rows and columns come to agree at most.
const ROUNDS: usize = 5;

/// Shares `capacity` among those who want so much each. What does not divide goes to some of them by lot: `draw` returns a number
/// below its argument.
pub(crate) fn share(
    wants: &[u32],
    mut capacity: u32,
    draw: &mut impl FnMut(u32) -> u32,
) -> Vec<u32> {
    let mut given = vec![0; wants.len()];
    loop {
        let open = |given: &[u32]| (0..wants.len()).filter(|&i| given[i] < wants[i]).count() as u32;
        let count = open(&given);
        if count == 0 || capacity == 0 {
            return given;
        }
        let each = capacity / count;
        if each == 0 {
            break;
        }
        for (given, want) in given.iter_mut().zip(wants) {
            let more = each.min(want - *given);
            *given += more;
            capacity -= more;
        }
    }
    let open: Vec<usize> = (0..wants.len()).filter(|&i| given[i] < wants[i]).collect();
    let start = draw(open.len() as u32) as usize;
    for at in 0..capacity as usize {
        given[open[(start + at) % open.len()]] += 1;
    }
    given
}

/// Shares the capacities of rows and of columns among the entries of a matrix, given by rows.
pub(crate) fn share_matrix(
    wants: &[Vec<u32>],
    rows: &mut [u32],
    columns: &mut [u32],
    draw: &mut impl FnMut(u32) -> u32,
) -> Vec<Vec<u32>> {
    let mut given: Vec<Vec<u32>> = wants.iter().map(|row| vec![0; row.len()]).collect();
    for _ in 0..ROUNDS {
        let mut offered = Vec::with_capacity(rows.len());
        for (row, &capacity) in rows.iter().enumerate() {
            let left = wants[row].iter().zip(&given[row]).zip(&*columns);
            // A column that is full is offered nothing.
            let left: Vec<u32> = left
                .map(|((want, given), &room)| (want - given).min(room))
                .collect();
            offered.push(share(&left, capacity, draw));
        }
        let mut moved = false;
        for (column, capacity) in columns.iter_mut().enumerate() {
            let wants: Vec<u32> = offered.iter().map(|row| row[column]).collect();
            for (row, more) in share(&wants, *capacity, draw).into_iter().enumerate() {
                given[row][column] += more;
                rows[row] -= more;
                *capacity -= more;
                moved |= more > 0;
            }
        }
        if !moved {
            break;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_wants_are_met_and_the_rest_is_shared() {
        assert_eq!(share(&[1, 10, 10], 11, &mut |_| 0), [1, 5, 5]);
        assert_eq!(share(&[4, 4, 4], 11, &mut |_| 1), [3, 4, 4]);
        assert_eq!(share(&[4, 0, 4], 100, &mut |_| 0), [4, 0, 4]);
        assert_eq!(share(&[], 3, &mut |_| 0), []);
    }

    proptest! {
        #[test]
        fn shares_are_max_min_fair(
            wants in prop::collection::vec(0u32..50, 1..20),
            capacity in 0u32..300,
            seed in any::<u32>(),
        ) {
            let given = share(&wants, capacity, &mut |below| seed % below);
            let total: u32 = wants.iter().sum();
            prop_assert_eq!(given.iter().sum::<u32>(), capacity.min(total));
            let least_unmet = given.iter().zip(&wants).filter(|(g, w)| g < w).map(|(g, _)| *g).min();
            for (&given, &want) in given.iter().zip(&wants) {
                prop_assert!(given <= want);
                prop_assert!(least_unmet.is_none_or(|least| given <= least + 1));
            }
        }

        #[test]
        fn matrices_keep_the_capacities_of_rows_and_columns(
            wants in prop::collection::vec(prop::collection::vec(0u32..50, 4), 4),
            (row, column) in (0u32..100, 0u32..100),
        ) {
            let (mut rows, mut columns) = ([row; 4], [column; 4]);
            let given = share_matrix(&wants, &mut rows, &mut columns, &mut |_| 0);
            for i in 0..4 {
                prop_assert_eq!(given[i].iter().sum::<u32>() + rows[i], row);
                prop_assert_eq!(given.iter().map(|row| row[i]).sum::<u32>() + columns[i], column);
                prop_assert!((0..4).all(|j| given[i][j] <= wants[i][j]));
            }
        }
    }
}
