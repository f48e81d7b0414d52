# SPDX-License-Identifier: MIT OR Apache-2.0
"""The congestion controls that plans may name, and which engine has which, with which parameters.

The simulator has models of a few; the Linux engine has those of its kernel. Parameters that mean the same have one name
and one unit, whatever the kernel calls them; those that only the kernel has bear its names and units.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from etalon import _core
from etalon.custom import control as custom
from etalon.custom import source
from etalon.errors import PlanError
from etalon.units import shown

ENGINES = SIM, LINUX = "sim", "linux"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a congestion control."""

    name: str
    default: float
    min: float
    max: float
    description: str
    whole: bool = False
    """It takes whole numbers only."""


@dataclass(frozen=True)
class Control:
    """A congestion control, with the parameters that each engine knows."""

    name: str
    description: str
    parameters: Mapping[str, Mapping[str, Parameter]] = field(default_factory=dict)
    """By engine and name. An engine that is not there does not have the congestion control."""

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that have it."""
        return tuple(self.parameters)

    def as_dict(self) -> dict[str, Any]:
        """For `etalon list cc`."""
        every = {name: p for known in self.parameters.values() for name, p in known.items()}
        return {
            "name": self.name,
            "description": self.description,
            "engines": list(self.engines),
            "parameters": [
                vars(parameter)
                | {"engines": [e for e in self.engines if name in self.parameters[e]]}
                for name, parameter in every.items()
            ],
        }


_LINUX = {
    "bbr": "BBR: models bandwidth and round trip, and paces to them (Cardwell 2016)",
    "bic": "BIC: binary search for the window (Xu 2004)",
    "cdg": "CAIA delay-gradient: backs off as the round trip grows (Hayes 2011)",
    "cubic": "CUBIC with HyStart, as in Linux 6.1 (RFC 9438).",
    "dctcp": "DCTCP: cuts the window by half the share of marked segments (RFC 8257).",
    "highspeed": "HighSpeed TCP: steeper with large windows (RFC 3649)",
    "htcp": "H-TCP: steeper the longer ago the last loss (Leith 2004)",
    "hybla": "Hybla: as fast over long round trips as over short ones (Caini 2004)",
    "illinois": "TCP-Illinois: loss says when, delay says how much (Liu 2006)",
    "lp": "TCP-LP: low priority, leaves as soon as delay grows (Kuzmanovic 2003)",
    "nv": "TCP-NV: keeps the queue short by measured rates, for data centres (Brakmo 2015)",
    "reno": "Reno: slow start, one segment a round trip, half on loss (RFC 5681).",
    "retcp": "reTCP: Reno that scales its window when circuits come and go (NSDI 2020, section 5.3).",
    "scalable": "Scalable TCP: a hundredth of what is acknowledged, an eighth on loss (Kelly 2003).",
    "vegas": "Vegas: keeps a few segments queued, by delay (Brakmo 1995)",
    "veno": "Veno: Reno that tells random loss by Vegas's estimate (Fu 2003)",
    "westwood": "Westwood+: sets the window to the estimated bandwidth on loss (Mascolo 2001)",
    "yeah": "YeAH-TCP: Scalable while the queue is short, Reno otherwise (Baiocchi 2007)",
}
"""What the kernel of the Linux engine has."""


def _integer(name: str, default: int, low: int, high: int, description: str) -> Parameter:
    """A parameter of the kernel's modules."""
    return Parameter(name, default, low, high, description, whole=True)


_SHARED = {
    "cubic": ("beta", "fast_convergence", "reno_friendly", "hystart"),
    "dctcp": ("g", "alpha"),
    "retcp": ("alpha", "beta"),
}
"""Parameters of the simulator's models that the kernel's have too."""

_KERNEL_ONLY: dict[str, tuple[Parameter, ...]] = {
    "bic": (
        _integer("beta", 819, 1, 1024, "share of the window left by a reduction, of 1024"),
        _integer("fast_convergence", 1, 0, 1, "give up more of a shrinking window"),
        _integer("low_window", 14, 1, 1 << 20, "window below which it is Reno, in segments"),
        _integer("max_increment", 16, 1, 1 << 20, "largest increment a round trip, in segments"),
        _integer("smooth_part", 20, 1, 1 << 20, "steps over the last part of the search"),
    ),
    "cdg": (
        _integer("backoff_beta", 717, 1, 1024, "share of the window left by a back-off, of 1024"),
        _integer("backoff_factor", 42, 1, 1 << 20, "back-off probability scale"),
        _integer("hystart_detect", 3, 0, 3, "1 packet trains, 2 delay, 3 both"),
        _integer(
            "use_ineff", 5, 0, 1 << 20, "ineffective back-offs before it stops them; 0: never"
        ),
        _integer("use_shadow", 1, 0, 1, "use a shadow window"),
        _integer("use_tolerance", 0, 0, 1, "tolerate losses that are not congestion"),
    ),
    "htcp": (
        _integer("use_rtt_scaling", 1, 0, 1, "scale the growth by the round trip"),
        _integer("use_bandwidth_switch", 1, 0, 1, "halve if the bandwidth has changed"),
    ),
    "hybla": (_integer("rtt0", 25, 1, 500, "round trip to be as fast as, in ms"),),
    "nv": (
        _integer("nv_pad", 10, 0, 1 << 20, "extra segments queued"),
        _integer("nv_reset_period", 5, 1, 1 << 20, "period of a new smallest round trip, in s"),
        _integer("nv_min_cwnd", 2, 1, 1 << 20, "smallest window, in segments"),
    ),
    "vegas": (
        _integer("alpha", 2, 0, 1 << 20, "fewest segments queued"),
        _integer("beta", 4, 0, 1 << 20, "most segments queued"),
        _integer("gamma", 1, 0, 1 << 20, "most segments queued in slow start"),
    ),
}


@cache
def controls() -> dict[str, Control]:
    """The congestion controls by name, in alphabetical order."""
    models = {entry["name"]: entry for entry in _core.congestion_controls()}
    every = {}
    for name in sorted(models.keys() | _LINUX.keys()):
        parameters: dict[str, dict[str, Parameter]] = {}
        if name in models:
            parameters[SIM] = {p["name"]: Parameter(**p) for p in models[name]["parameters"]}
        if name in _LINUX:
            shared = (parameters[SIM][p] for p in _SHARED.get(name, ()))
            own = _KERNEL_ONLY.get(name, ())
            parameters[LINUX] = {p.name: p for p in (*shared, *own)}
        description = models[name]["description"] if name in models else f"{_LINUX[name]}."
        every[name] = Control(name, description, parameters)
    return every


def problems(key: str, cc: str, params: Mapping[str, float]) -> Iterator[PlanError]:
    """What no engine could run: an unknown congestion control, an unknown parameter, a value out of range."""
    known = controls()
    if cc not in known:
        near = difflib.get_close_matches(cc.lower(), known, n=1, cutoff=0.5)
        hint = f"did you mean {shown(near[0])}?" if near else f"there are {', '.join(known)}"
        yield PlanError(
            f"{shown(cc)} is not a congestion control; {hint}", key=f"{key}.cc", value=cc
        )
        return
    parameters = {n: p for of in known[cc].parameters.values() for n, p in of.items()}
    for name, value in params.items():
        where = f"{key}.params.{name}"
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters, n=1, cutoff=0.5)
            if near:
                hint = f"did you mean {shown(near[0])}?"
            else:
                hint = f"it has {', '.join(parameters)}" if parameters else "it has none"
            yield PlanError(f"{cc} has no such parameter; {hint}", key=where, value=value)
            continue
        if not math.isfinite(value):
            yield PlanError(f"{value} must be a number", key=where, value=value)
            continue
        if parameters[name].whole and value != int(value):
            yield PlanError(f"{value} must be a whole number", key=where, value=value)
            continue
        low, high = parameters[name].min, parameters[name].max
        if value < low:
            yield PlanError(f"{value} must be at least {low}", key=where, value=value)
        elif value > high:
            yield PlanError(f"{value} must be at most {high}", key=where, value=value)


def written_in(file: Path) -> list[Control]:
    """The congestion controls of a user's file, which is executed. Raises `EtalonError` if that fails."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise PlanError(f"cannot be read: {why}", file=str(file)) from None
    source.allow([text])
    found = []
    for name in sorted(source.defined(text, file.name, "--from")):
        thing = source.load(f"{file.name}:{name}", {file.name: text})
        if isinstance(thing, type) and issubclass(thing, custom.CongestionControl):
            own = {
                key: Parameter(key, one.default, one.min, one.max, one.description, one.whole)
                for key, one in custom.parameters(thing).items()
            }
            said = custom.description(thing)
            found.append(Control(f"{file.name}:{name}", said, {SIM: own}))
    if not found:
        raise PlanError("defines no subclass of etalon.CongestionControl", file=str(file))
    return found
