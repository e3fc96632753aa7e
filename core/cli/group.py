"""A group of commands whose modules are imported only when they are called."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from core.cli.words import say


@dataclass(frozen=True, slots=True)
class Programs:
    """What the command line is given by whoever assembles the product.

    `tools` are the parts that a command needs when it opens the app itself; `daemon` starts one for good.
    """

    tools: Callable[[], Sequence[Any]]
    daemon: tuple[str, ...]


class LazyGroup(click.Group):
    """`lazy` names a command by where it is; its line of help comes from the catalogue."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy: dict[str, tuple[str, str]] = {}

    def lazy(self, name: str, target: str, about: str) -> None:
        """Add the command `module:attribute` under a name; `about` is its line in `--help`."""
        self._lazy[name] = (target, about)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, about) for name, (_, about) in self._lazy.items()]
        for name in super().list_commands(ctx):
            if command := super().get_command(ctx, name):
                rows.append((name, command.get_short_help_str(80)))
        with formatter.section(say("commands")):
            formatter.write_dl(sorted(rows))
