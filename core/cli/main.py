"""`apx`: the verbs of the core. Who assembles the product adds its own and calls the group."""

import click

from core.cli.group import LazyGroup
from core.cli.words import say

VERBS = {
    "exec": "core.cli.ask:ask",
    "config": "core.cli.settings:config",
    "permission": "core.cli.settings:permission",
    "identity": "core.cli.identity:identity",
    "model": "core.cli.model:model",
    "telegram": "core.cli.telegram:telegram",
    "token": "core.cli.token:token",
    "project": "core.cli.project:project",
    "debug": "core.cli.routing:debug",
    "spending": "core.cli.routing:spending",
    "run": "core.cli.run:run",
    "thread": "core.cli.thread:thread",
    "threads": "core.cli.thread:threads",
    "memory": "core.cli.memory:memory",
    "sessions": "core.cli.memory:sessions",
    "skills": "core.cli.skills:skills",
    "task": "core.cli.tasks:task",
    "approvals": "core.cli.approvals:approvals",
    "agent": "core.cli.agent:agent",
    "room": "core.cli.room:room",
    "send": "core.cli.send:send",
    "jobs": "core.cli.send:jobs",
    "mcp": "core.cli.mcp:mcp",
    "runtimes": "core.cli.runtimes:runtimes",
    "doctor": "core.cli.doctor:doctor",
    "daemon": "core.cli.daemon:daemon",
}


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from core.app import version

        click.echo(f"apx {version()}")
        ctx.exit()


@click.group(
    "apx", cls=LazyGroup, help=say("about"), context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help=say("version")
)
def group() -> None:
    pass


for _name, _target in VERBS.items():
    group.lazy(_name, _target, say(f"{_name}.about"))
