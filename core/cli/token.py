"""`apx token`: the owner's token and those of devices."""

import click

from core.cli.output import app, dump, json_option, record, table, verb
from core.cli.words import say


@click.group(help=say("token.about"))
def token() -> None:
    pass


@token.command("rotate", help=say("token.rotate"))
@verb
async def rotate() -> None:
    async with app() as client:
        await client.call("POST", "/api/token/rotate")
    click.echo(say("token.rotated"), err=True)


@token.command("pair", help=say("token.pair"))
@click.option(
    "--scope",
    type=click.Choice(["bridge", "client"]),
    default="bridge",
    show_default=True,
    help=say("token.scope"),
)
@click.option("--label", default="", help=say("token.label"))
@click.option("--project", default="default", help=say("token.project"))
@click.option("--code", "only_code", is_flag=True, help=say("token.code"))
@json_option
@verb
async def pair(scope: str, label: str, project: str, only_code: bool, as_json: bool) -> None:
    async with app() as client:
        begun = await client.call(
            "POST", "/api/pair/init", {"scope": scope, "label": label, "project_id": project}
        )
        if not only_code:
            begun = await client.call(
                "POST",
                "/api/pair/confirm",
                {"pairing_id": begun["pairing_id"], "code": begun["code"], "label": label},
            )
    if as_json:
        dump(begun)
    elif only_code:
        record(begun)
    else:
        click.echo(begun["token"])
        click.echo(say("token.once"), err=True)


@token.command("list", help=say("token.list"))
@json_option
@verb
async def list_(as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get("/api/pair/list"))["data"]
    if as_json:
        dump(rows)
    else:
        table(rows, ("id", "scope", "label", "project_id", "created_at", "last_seen_at"))


@token.command("revoke", help=say("token.revoke"))
@click.argument("id")
@verb
async def revoke(id: str) -> None:
    async with app() as client:
        await client.call("DELETE", f"/api/pair/{id}")
    click.echo(say("token.revoked"), err=True)
