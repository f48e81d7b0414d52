# SPDX-License-Identifier: MIT OR Apache-2.0
"""Constants with which a kernel converts between ticks and seconds: a product with a fraction, as a multiplication and a shift.

For a fraction n/d below 2^32 and numbers x of 32 bits, x n/d is (x mul + adj) >> shr, rounded down with adj = 0 and up with
adj = 2^shr (d - 1)/d, where mul is 2^shr n/d, rounded up, with as many bits as go into 32.
"""

from __future__ import annotations

from fractions import Fraction

UNITS = {"MSEC": 1_000, "USEC": 1_000_000, "NSEC": 1_000_000_000}
"""How many there are in a second."""
MULTIPLIED = ("MSEC", "USEC")
"""Those that are converted by multiplication; of all the fraction is given."""


def multiplier(fraction: Fraction) -> tuple[int, int, int]:
    """`mul`, `adj` and `shr` of a fraction."""
    shift = 0
    while _rounded_up(fraction * (1 << (shift + 1))) < 1 << 32:
        shift += 1
    upwards = Fraction(fraction.denominator - 1, fraction.denominator)
    return _rounded_up(fraction * (1 << shift)), int(upwards * (1 << shift)), shift


def header(hz: int) -> str:
    """include/generated/timeconst.h of a kernel with this timer frequency."""
    lines = ["#ifndef KERNEL_TIMECONST_H", "#define KERNEL_TIMECONST_H", ""]
    lines += ["#include <linux/param.h>", "#include <linux/types.h>", ""]
    lines += [f"#if HZ != {hz}", '#error "these constants are for another HZ"', "#endif", ""]
    for unit, per_second in UNITS.items():
        there = Fraction(per_second, hz)
        for name, fraction in ((f"HZ_TO_{unit}", there), (f"{unit}_TO_HZ", 1 / there)):
            if unit in MULTIPLIED:
                mul, adj, shr = multiplier(fraction)
                lines.append(f"#define {name}_MUL32 U64_C({mul:#x})")
                lines.append(f"#define {name}_ADJ32 U64_C({adj:#x})")
                lines.append(f"#define {name}_SHR32 {shr}")
            lines.append(f"#define {name}_NUM {fraction.numerator}")
            lines.append(f"#define {name}_DEN {fraction.denominator}")
    return "\n".join([*lines, "", "#endif", ""])


def _rounded_up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
