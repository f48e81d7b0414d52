# SPDX-License-Identifier: MIT OR Apache-2.0
"""The messages of Chakra's execution traces that are read here, built when they are needed.

Names and numbers are those of et_def.proto of MLCommons Chakra (https://github.com/mlcommons/chakra, MIT). Fields that are not
listed are skipped.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from etalon.errors import EtalonError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXTRA = "etalon-rdcn[chakra]"


class NodeType(IntEnum):
    """What a node is."""

    METADATA = 1
    MEM_LOAD = 2
    MEM_STORE = 3
    COMP = 4
    COMM_SEND = 5
    COMM_RECV = 6
    COMM_COLL = 7


class Collective(IntEnum):
    """The attribute `comm_type` of a node of type COMM_COLL."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9


NUMBERS = {"int32": 7, "int64": 9, "uint32": 11, "uint64": 13, "sint32": 15, "sint64": 17}
NUMBERS |= {"fixed32": 19, "fixed64": 21, "sfixed32": 23, "sfixed64": 25}
"""Kinds of integers that an attribute may have, and their fields `<kind>_val`; a list is in the next field, `<kind>_list`."""


@cache
def messages() -> tuple[type[Any], type[Any]]:
    """The classes GlobalMetadata and Node. Raises `EtalonError` without the package `protobuf`."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise EtalonError(
            f"Chakra traces need the package protobuf: pip install '{EXTRA}'"
        ) from error
    file = descriptor_pb2.FileDescriptorProto(
        name="etalon/chakra.proto", package="ChakraProtoMsg", syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto

    def message(name: str, fields: Sequence[tuple[str, int, str, bool]], oneof: str = "") -> None:
        """A message with these fields: name, number, type, and whether it is repeated."""
        made = file.message_type.add(name=name)
        if oneof:
            made.oneof_decl.add(name=oneof)
        for field, number, kind, many in fields:
            added = made.field.add(name=field, number=number)
            added.label = kinds.LABEL_REPEATED if many else kinds.LABEL_OPTIONAL
            if kind[0].isupper():
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".ChakraProtoMsg.{kind}"
            else:
                added.type = getattr(kinds, f"TYPE_{kind.upper()}")
            if oneof and number > 2:
                added.oneof_index = 0

    values = []
    for kind, number in NUMBERS.items():
        message(f"{kind.capitalize()}List", [("values", 1, kind, True)])
        values.append((f"{kind}_val", number, kind, False))
        values.append((f"{kind}_list", number + 1, f"{kind.capitalize()}List", False))
    values += [("double_val", 3, "double", False), ("float_val", 5, "float", False)]
    values += [("bool_val", 27, "bool", False), ("string_val", 29, "string", False)]
    message("AttributeProto", [("name", 1, "string", False), *values], oneof="value")
    attributes = ("attr", 2, "AttributeProto", True)
    message("GlobalMetadata", [("version", 1, "string", False), attributes])
    numbers = [("id", 1), ("type", 3), ("duration_micros", 7)]
    message(
        "Node",
        [
            *((name, number, "uint64", False) for name, number in numbers),
            ("name", 2, "string", False),
            *(("ctrl_deps", 4, "uint64", True), ("data_deps", 5, "uint64", True)),
            ("attr", 10, "AttributeProto", True),
        ],
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = (pool.FindMessageTypeByName(f"ChakraProtoMsg.{n}") for n in ("GlobalMetadata", "Node"))
    first, second = (message_factory.GetMessageClass(one) for one in found)
    return first, second
