# SPDX-License-Identifier: MIT OR Apache-2.0
"""Addresses as prefixes: exactly those addresses, in as few prefixes as can be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple

from etalon_otcp.network import Address

Subnet = IPv4Network | IPv6Network


class Prefix(NamedTuple):
    """An address's version (4 or 6), its bits as a number, and how many of them count."""

    version: int
    bits: int
    length: int

    @classmethod
    def of(cls, what: Address | Subnet) -> Prefix:
        """A host's address, or a subnet."""
        if isinstance(what, (IPv4Network, IPv6Network)):
            return cls(what.version, int(what.network_address), what.prefixlen)
        return cls(what.version, int(what), what.max_prefixlen)

    def __str__(self) -> str:
        address = IPv4Address(self.bits) if self.version == 4 else IPv6Address(self.bits)
        return f"{address}/{self.length}"

    @property
    def width(self) -> int:
        """Bits of an address of this version."""
        return 32 if self.version == 4 else 128

    def covers(self, other: Prefix) -> bool:
        """Whether all addresses of `other` are in this one."""
        shift = self.width - self.length
        return (
            self.version == other.version
            and self.length <= other.length
            and self.bits >> shift == other.bits >> shift
        )


def merge(prefixes: Iterable[Prefix]) -> list[Prefix]:
    """The fewest prefixes with exactly these addresses, in order; never one of length 0."""
    by_length: dict[tuple[int, int], set[int]] = defaultdict(set)
    for prefix in prefixes:
        by_length[prefix.version, prefix.length].add(prefix.bits)
    merged: list[Prefix] = []
    for version, width in ((4, 32), (6, 128)):
        for length in range(width, 1, -1):
            here = by_length.get((version, length))
            if not here:
                continue
            sibling = 1 << (width - length)
            for bits in here:
                if not bits & sibling and bits | sibling in here:
                    by_length[version, length - 1].add(bits)
                elif bits & sibling and bits ^ sibling in here:
                    continue  # merged with its sibling
                else:
                    merged.append(Prefix(version, bits, length))
        merged += [Prefix(version, bits, 1) for bits in by_length.get((version, 1), ())]
    return sorted(_without_covered(merged))


def _without_covered(prefixes: list[Prefix]) -> list[Prefix]:
    kept: list[Prefix] = []
    for prefix in sorted(prefixes):
        if not kept or not kept[-1].covers(prefix):
            kept.append(prefix)
    return kept
