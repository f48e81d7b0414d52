# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which commands there are, `etalon help`, and the remedy for a word that is none of them."""

from __future__ import annotations

import difflib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from etalon.cli.lists import Kind

_FIGURES = "`etalon run` draws figures, `etalon report RESULTS` draws them again, and `etalon list figures` lists them"
_RUN = "`etalon run PLAN` runs a plan"
_COPY = "`etalon examples --copy .` copies plans to start from"
_TRACE = "`etalon trace PLAN` records packets"
MEANT = {
    "compare": "`etalon sweep PLAN --set KEY=V1,V2` compares values of a key, and `etalon validate` the engines",
    **dict.fromkeys(("figure", "plot", "draw", "graph"), _FIGURES),
    **dict.fromkeys(("simulate", "sim", "start"), _RUN),
    **dict.fromkeys(("copy", "create", "init", "new"), _COPY),
    **dict.fromkeys(("capture", "pcap", "tcpdump", "wireshark"), _TRACE),
    **dict.fromkeys(("results", "show", "view"), "`etalon report RESULTS` writes report.html"),
    "paper": "`etalon reproduce PAPER` measures a paper's claims, and `etalon list papers` lists them",
    "version": "`etalon --version` prints the version",
}
"""What people type who know other programs, and the command for it."""


class Commands(TyperGroup):
    """The commands; a word that is none of them has a remedy."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of this name, and its arguments."""
        try:
            return super().resolve_command(ctx, args)
        except typer.TyperException as error:
            if args and not args[0].startswith("-"):
                error.message = f'there is no command "{args[0]}"; {self._remedy(ctx, args[0])}'
            raise

    def invoke(self, ctx: Any) -> Any:
        """Runs a command. Ctrl-C that it has no sentence for is left to `main`: Typer would end without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def _remedy(self, ctx: Any, word: str) -> str:
        if word in MEANT:
            return MEANT[word]
        if word.endswith(".toml"):
            return f"`etalon run {word}` runs a plan"
        for name in (word, f"{word}s"):
            if name in [*Kind]:
                return f"`etalon list {name}` prints this list"
        names = self.list_commands(ctx)
        near = difflib.get_close_matches(word, names, n=1)
        return f'did you mean "{near[0]}"?' if near else f"there are {', '.join(names)}"


def sentence(error: typer.TyperException) -> str:
    """What is wrong with the words of a command; of an option that it lacks, also where there is one."""
    option, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if option and context:
        if "--set" in _options(context.command):
            from etalon.plan import Plan
            from etalon.plan.explain import keys_named

            key = next(iter(keys_named(Plan, option.lstrip("-"))), None)
            if key is not None:
                return f"`{context.command_path}` has no option {option}; --set {key}=VALUE sets a key of the plan"
        every = context.find_root().command.commands.items()
        of_plans = [(name, command) for name, command in every if _takes_plans(command)]
        having = [name for name, command in of_plans if option in _options(command)]
        if having and _takes_plans(context.command):
            return f"`{context.command_path}` has no option {option}; `etalon {having[0]}` has"
    return error.format_message()


def _options(command: Any) -> list[str]:
    return [name for parameter in command.params for name in parameter.opts]


def _takes_plans(command: Any) -> bool:
    return any((parameter.metavar or "").startswith("PLAN") for parameter in command.params)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("help", epilog="Example:  etalon help sweep")(show)


def show(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command.", show_default=False)
    ] = None,
) -> None:
    """Show this list, or what a command does."""
    place: Any = context.find_root()
    for word in command or ():
        if not isinstance(place.command, TyperGroup):
            break
        name, found, _ = place.command.resolve_command(place, [word])
        assert found is not None
        place = type(context)(found, info_name=name, parent=place)
    typer.echo(place.get_help())
