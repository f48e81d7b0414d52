# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Wireshark dissector of TDTCP, on captures made by hand: what is well formed is shown, what is not is named."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, need_program

DISSECTOR = ROOT / "tools" / "wireshark" / "tdtcp.lua"
SYN, ACK = 0x02, 0x10


@pytest.fixture(autouse=True)
def _installed() -> None:
    need_program("tshark")


def checksum(content: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    words = struct.unpack(f">{len(content) // 2}H", content[: len(content) // 2 * 2])
    total = sum(words) + (content[-1] << 8 if len(content) % 2 else 0)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip(protocol: int, content: bytes) -> bytes:
    """An IPv4 packet from 10.0.0.1 to 10.1.0.1."""
    addresses = bytes([10, 0, 0, 1, 10, 1, 0, 1])
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 1, 0, 64, protocol, 0) + addresses
    return header[:10] + struct.pack(">H", checksum(header)) + header[12:] + content


def segment(options: str, flags: int = ACK, data: bytes = b"") -> bytes:
    """A TCP segment with these option bytes, given in hexadecimal; what is missing to whole words is padded."""
    raw = bytes.fromhex(options)
    raw += bytes(-len(raw) % 4)
    header = struct.pack(
        ">HHIIBBHHH", 40001, 5001, 1, 1, (20 + len(raw)) // 4 << 4, flags, 512, 0, 0
    )
    return ip(6, header + raw + data)


def notification(content: str) -> bytes:
    """An ICMP message of type 7, code 0, with these bytes after its checksum."""
    body = bytes.fromhex(content)
    header = bytes([7, 0])
    return ip(1, header + struct.pack(">H", checksum(header + bytes(2) + body)) + body)


def tshark(folder: Path, packets: list[bytes], *arguments: str) -> list[str]:
    """What tshark says about a capture of these IP packets, a line each."""
    path = folder / "hand-made.pcap"
    link_type_raw_ip = 101
    records = [struct.pack("<IIII", i, 0, len(p), len(p)) + p for i, p in enumerate(packets)]
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type_raw_ip)
    path.write_bytes(head + b"".join(records))
    return tshark_file(path, *arguments)


def tshark_file(path: Path, *arguments: str) -> list[str]:
    """What tshark says about a capture, a line each."""
    command = ["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "lua" not in done.stderr.lower(), done.stderr
    return done.stdout.splitlines()


def fields(folder: Path, packet: bytes, *names: str) -> list[str]:
    (line,) = tshark(folder, [packet], "-T", "fields", *(a for name in names for a in ("-e", name)))
    return line.split("\t")


EXPERT = "_ws.expert.group"
MALFORMED = "117440512"


def test_td_capable_has_a_number_of_tdns(tmp_path: Path) -> None:
    names = ("tdtcp.subtype", "tdtcp.num_tdns", "tdtcp.data_tdn", EXPERT)
    for flags in (SYN, SYN | ACK):
        *got, remarks = fields(tmp_path, segment("23041003", flags), *names)
        assert got == ["1", "3", ""]
        assert MALFORMED not in remarks


@pytest.mark.parametrize("length", [8, 16])
def test_td_data_ack_has_the_tdns_that_its_flags_announce(tmp_path: Path, length: int) -> None:
    names = ("tdtcp.subtype", "tdtcp.data_tdn", "tdtcp.ack_tdn", EXPERT)

    def option(flags: int) -> str:
        return f"23{length:02x}20{flags:02x}02000100" + "00" * (length - 8)

    assert fields(tmp_path, segment(option(3), data=b"data"), *names) == ["2", "2", "1", ""]
    assert fields(tmp_path, segment(option(2), data=b"data"), *names) == ["2", "2", "", ""]
    assert fields(tmp_path, segment(option(1)), *names) == ["2", "", "1", ""]
    assert fields(tmp_path, segment(option(4)), *names) == ["2", "", "", ""]


def test_options_beside_others(tmp_path: Path) -> None:
    timestamps = "0101080a0000000100000002"
    sack = "0101050a0000000100000002"
    packet = segment(timestamps + "2308200301000000" + sack, data=b"data")
    names = (
        "tdtcp.data_tdn",
        "tdtcp.ack_tdn",
        "tcp.options.timestamp.tsval",
        "tcp.options.sack_le",
    )
    assert fields(tmp_path, packet, *names) == ["1", "0", "1", "1"]


BAD = [
    (segment("2302"), "tdtcp.bad_length"),
    (segment("23031000", SYN), "tdtcp.bad_length"),
    (segment("2308100300000000", SYN), "tdtcp.bad_length"),
    (segment("23042003"), "tdtcp.bad_length"),
    (segment("2328200301000100" + "00" * 32), "tdtcp.bad_length"),
    (segment("23047003", SYN), "tdtcp.bad_subtype"),
    (segment("23041000", SYN), "tdtcp.bad_num_tdns"),
    (segment("23041002"), "tdtcp.misplaced"),
    (segment("2308200301000100", SYN), "tdtcp.misplaced"),
    (notification("01000001aa"), "tdtcp.bad_size"),
    (notification("01"), "tdtcp.bad_size"),
    # These Wireshark finds itself, before it asks anyone what the option means.
    (segment("2300"), "tcp.option.len.invalid"),
    (segment("23010000"), "tcp.option.len.invalid"),
    (segment("2328200301000100"), "tcp.option.len.invalid"),
    (segment("01010123"), "tcp.option.len.invalid"),
]


def test_what_is_malformed_is_named(tmp_path: Path) -> None:
    good = [segment("23041003", SYN), segment("2308200301000100"), notification("010000ff")]
    experts = sorted({expert for _, expert in BAD})
    names = (argument for expert in experts for argument in ("-e", expert))
    lines = tshark(tmp_path, [*good, *(packet for packet, _ in BAD)], "-T", "fields", *names)
    named = [
        [expert for expert, text in zip(experts, line.split("\t"), strict=True) if text]
        for line in lines
    ]
    assert named == [[]] * len(good) + [[expert] for _, expert in BAD]


def test_nothing_is_read_from_what_has_no_meaning(tmp_path: Path) -> None:
    unknown = ("bad_length", "bad_subtype", "bad_size", "tcp.option.len.invalid")
    packets = [packet for packet, expert in BAD if expert.removeprefix("tdtcp.") in unknown]
    shown = "tdtcp.num_tdns || tdtcp.data_tdn || tdtcp.ack_tdn || tdtcp.active_tdn"
    assert tshark(tmp_path, packets, "-Y", shown) == []


def test_a_notification_says_which_tdn_leads_where(tmp_path: Path) -> None:
    packets = [notification("01000002"), notification("0000ffff")]
    shown = tshark(
        tmp_path,
        packets,
        *("-T", "fields", "-e", "tdtcp.active_tdn", "-e", "tdtcp.rack"),
        *("-e", "icmp.checksum.status", "-e", "_ws.col.Info", "-e", EXPERT),
    )
    assert shown == ["1\t2\t1\tTDN 1 leads to rack 2\t", "0\t65535\t1\tTDN 0 leads to every rack\t"]


def test_other_icmp_messages_stay_wiresharks(tmp_path: Path) -> None:
    echo = bytes.fromhex("0800") + bytes(2) + bytes.fromhex("00010001") + b"ping"
    echo = echo[:2] + struct.pack(">H", checksum(echo)) + echo[4:]
    got = fields(tmp_path, ip(1, echo), "icmp.type", "icmp.seq", "tdtcp.active_tdn", EXPERT)
    assert got[:3] == ["8", "1", ""]
    other_code = bytes([7, 1, 0xF8, 0xFE]) + bytes(4)
    assert fields(tmp_path, ip(1, other_code), "icmp.code", "tdtcp.active_tdn") == ["1", ""]


def test_filters_tell_segments_apart(tmp_path: Path) -> None:
    packets = [
        segment("23041002", SYN),
        segment("2308200301000000", data=b"data"),
        segment("2308200301000100", data=b"data"),
        segment("2308200100000100"),
        segment(""),
        notification("01000001"),
    ]

    def frames(wanted: str) -> list[str]:
        return tshark(tmp_path, packets, "-Y", wanted, "-T", "fields", "-e", "frame.number")

    assert frames("tdtcp") == ["1", "2", "3", "4", "6"]
    assert frames("tdtcp.num_tdns == 2") == ["1"]
    assert frames("tdtcp.data_tdn == 1") == ["2", "3"]
    assert frames("tdtcp.ack_tdn == 0") == ["2"]
    assert frames("tdtcp.data_tdn != tdtcp.ack_tdn") == ["2"]
    assert frames("tdtcp.active_tdn == 1 && tdtcp.rack == 1") == ["6"]
