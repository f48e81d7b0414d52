# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon otcp`: the controller that tells hosts how to use TCP, what it says, and a demonstration."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from etalon.cli import common
from etalon.errors import PlanError

app = typer.Typer(
    help="A controller that tells hosts how to use TCP (OTCP, NOMS 2016).",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Url = Annotated[str, typer.Option("--url", help="Where the controller's API is.")]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help="File with an operator's token.", show_default=False),
]
Ca = Annotated[
    Path | None,
    typer.Option("--ca", help="CA of the controller's certificate (PEM).", show_default=False),
]
URL = "http://127.0.0.1:8443"


@app.command(epilog="Example:  etalon otcp controller /etc/etalon-otcp/controller.toml")
def controller(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The controller's file.", show_default=False)
    ],
    check: Annotated[bool, typer.Option("--check", help="Check the file and exit.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log events.")] = False,
) -> None:
    """Run the controller: OpenFlow to switches, HTTP to hosts and operators."""
    import logging

    from etalon.units import counted
    from etalon_otcp import process
    from etalon_otcp.config import Config

    config = Config.load(file)
    if check:
        process.check(config)
        switches = counted(len(config.switch), "switch", "switches")
        common.note(f"{file}: {switches}, {counted(len(config.host), 'host')}")
        return
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    logging.getLogger("os_ken").setLevel(logging.ERROR)
    logging.getLogger("os_ken.ofproto.ofproto_parser").setLevel(
        logging.CRITICAL
    )  # strangers' bytes
    process.run(
        config, lambda url: common.note(f"API at {url}, OpenFlow at {config.openflow.listen}")
    )


@app.command(epilog="Example:  etalon otcp explain h1 h3")
def explain(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A host.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TO", help="Another host.", show_default=False)],
    url: Url = URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    json: common.Json = False,
) -> None:
    """Explain the values for one host towards another: path, inputs with source and age, equations, bounds."""
    from etalon_otcp import explain as explaining
    from etalon_otcp.client import Client

    found = Client(url, token_file, ca).get(f"/v1/pairs/{_part(source)}/{_part(target)}")
    if json:
        common.print_json(found)
        return
    for line in explaining.text(found):
        typer.echo(line)


@app.command()
def show(
    url: Url = URL, token_file: TokenFile = None, ca: Ca = None, json: common.Json = False
) -> None:
    """Show the links that are up, with their delays, and the controller's health."""
    from etalon.units import counted
    from etalon_otcp.client import Client

    client = Client(url, token_file, ca)
    links, health = client.get("/v1/links"), client.get("/v1/health")
    if json:
        common.print_json({"health": health, "links": links})
        return
    table = common.plain_table("from", "to", ">delay", ">rate", ">queue", ">age")
    for link in links:
        delay, rate, queue = link["delay_us"], link["rate_bps"], link["queue_bytes"]
        table.add_row(
            link["source"],
            link["target"],
            f"{delay['value']:.0f} us",
            f"{rate['value'] / 1e6:g} Mb/s" if rate else "?",
            f"{queue['value']:g} B" if queue else "?",
            f"{delay['age_s']:g} s",
        )
    common.print_table(table)
    typer.echo(
        f"\n{health['status']}: version {health['version']}, {counted(health['hosts'], 'host')}"
    )
    for problem in health["problems"]:
        typer.echo(f"  {problem}")


@app.command()
def measure(url: Url = URL, token_file: TokenFile = None, ca: Ca = None) -> None:
    """Have the controller measure all delays again. The network should be idle."""
    from etalon_otcp.client import Client

    Client(url, token_file, ca).post("/v1/measure")
    common.note("measuring; etalon otcp show prints each delay's age")


@app.command(epilog="Example:  etalon otcp diff new-controller.toml")
def diff(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Another controller's file.", show_default=False),
    ] = None,
    url: Url = URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    json: common.Json = False,
) -> None:
    """Show how hosts' values would change: with another file, or, without one, at the end of the roll-out.

    Changes nothing, and takes the network as the running controller sees it.
    """
    from etalon_otcp import differences
    from etalon_otcp.client import Client
    from etalon_otcp.config import Config

    client = Client(url, token_file, ca)
    told = {h: differences.values(r) for h, r in client.get("/v1/documents").items()}
    if file is None:
        after = client.get("/v1/documents?pending=true")
        wanted = {host: differences.values(routes) for host, routes in after.items()}
    else:
        config = Config.load(file)
        seen = differences.network(client.get("/v1/topology"), client.get("/v1/links"), config)
        wanted = differences.documents(seen, config)
    found = differences.differences(told, wanted)
    if json:
        common.print_json(found)
        return
    for line in differences.text(found):
        typer.echo(line)
    for problem in client.get("/v1/health")["problems"]:
        common.note(f"seen with a problem: {problem}")


@app.command()
def hold(url: Url = URL, token_file: TokenFile = None, ca: Ca = None) -> None:
    """Hold a roll-out: the controller sends new values to the canaries only, until `etalon otcp release`."""
    _rollout("hold", url, token_file, ca)


@app.command()
def release(url: Url = URL, token_file: TokenFile = None, ca: Ca = None) -> None:
    """Release a roll-out: the controller sends the canaries' values to all hosts, without waiting."""
    _rollout("release", url, token_file, ca)


def _rollout(what: str, url: str, token_file: Path | None, ca: Path | None) -> None:
    from etalon.units import counted
    from etalon_otcp.client import Client

    found = Client(url, token_file, ca).post(f"/v1/rollout/{what}")
    state = "held" if found["held"] else "not held"
    hosts = counted(len(found["pending"]), "host is", "hosts are")
    common.note(f"{state}: {hosts} still to be told what is new")


@app.command(epilog="Example:  etalon otcp demo --hosts 8")
def demo(
    racks: Annotated[int, typer.Option("--racks", min=2, max=8, help="Racks.")] = 2,
    hosts: Annotated[int, typer.Option("--hosts", min=2, max=32, help="Hosts in each rack.")] = 2,
    layers: Annotated[
        int,
        typer.Option(
            "--layers",
            min=2,
            max=3,
            help="2: racks below two aggregation switches; 3: the paper's tree, two pods and a core.",
        ),
    ] = 2,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Samples of each delay.")] = 100,
    calibrate: Annotated[
        str, typer.Option("--calibrate", help="How to measure: loop, or echo as in the paper.")
    ] = "loop",
    statistic: Annotated[
        str,
        typer.Option(
            "--statistic", help="Statistic of the samples: min, median, or mean as in the paper."
        ),
    ] = "min",
    delays: Annotated[
        bool, typer.Option("--delays", help="Delays and round trips only: no agents, no failures.")
    ] = False,
    virtual: Annotated[
        bool,
        typer.Option(
            "--virtual",
            help="In virtual time, on the Linux engine: exact, repeatable, without root.",
        ),
    ] = False,
    here: Annotated[
        bool,
        typer.Option("--here", help="On this emulated host: for programs of plans.", hidden=True),
    ] = False,
    failures: Annotated[int, typer.Option("--failures", min=1, help="How often a link fails.")] = 1,
    logs: Annotated[
        Path | None,
        typer.Option("--logs", metavar="DIR", help="Keep the programs' logs.", show_default=False),
    ] = None,
    json: common.Json = False,
) -> None:
    """Show the whole system on this machine: Open vSwitch, controller, agents, connections, a failing link.

    Everything runs in private namespaces and disappears afterwards.
    """
    import sys

    from etalon_otcp.demo import outside
    from etalon_otcp.demo import virtual as virtually

    _check(calibrate, statistic)
    options = outside.Options(
        racks, hosts, layers, samples, calibrate, statistic, failures, delays, logs
    )
    show = virtually.here if here else virtually.run if virtual else outside.run
    found = show(options, to=sys.stderr if json else sys.stdout)
    if json:
        common.print_json(found)


def _check(calibrate: str, statistic: str) -> None:
    from etalon_otcp.delays import Calibrate, Statistic

    for key, value, known in (
        ("--calibrate", calibrate, Calibrate),
        ("--statistic", statistic, Statistic),
    ):
        if value not in set(known):
            raise PlanError(f"{key} {value}: is {' or '.join(known)}")


@app.command()
def token() -> None:
    """Make a token: what its owner keeps, and the line for the controller's file."""
    from etalon_otcp.api.auth import make

    secret, hashed = make()
    typer.echo(f'token:            {secret}\nin the tokens file: NAME = "{hashed}"')


@app.command(epilog="Two of the paper's values contradict its own equations; both are shown.")
def table1(json: common.Json = False) -> None:
    """Compute the paper's Table I from its RTTs."""
    from etalon.plan.otcp.table1 import cells

    found = cells()
    if json:
        common.print_json([asdict(cell) for cell in found])
        return
    table = common.plain_table("layer", "value", ">computed", ">printed", "")
    for cell in found:
        note = cell.why if cell.computed != cell.printed else ""
        table.add_row(cell.layer, cell.column, f"{cell.computed:g}", f"{cell.printed:g}", note)
    common.print_table(table)


def _part(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")
