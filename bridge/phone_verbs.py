"""`apx phone`: which phone it is, how it is, and what it shows."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from bridge.narrated import narrated
from core.cli.client import health, running
from core.cli.output import FAILED, NOT_CONFIGURED, app, dump, json_option, record, table, verb
from core.cli.words import language, say
from core.errors import ApxError, NotFound, Unavailable
from core.paths import Home


@click.group(help=say("phone.about"))
def phone() -> None:
    pass


@phone.command("status", help=say("phone.status"))
@json_option
@verb
async def status(as_json: bool) -> None:
    async with app() as client:
        shown = await client.get("/api/phone")
    if as_json:
        dump(shown)
    else:
        show(shown)
    if shown["state"] != "ready":
        sys.exit(NOT_CONFIGURED if shown["state"] == "not_configured" else FAILED)


def show(shown: dict[str, Any]) -> None:
    """A phone as a person reads it; what is wrong and what to do go to stderr."""
    ready = shown["state"] == "ready"
    click.echo(f"{'✓' if ready else '✗'} {shown['says']}", err=not ready)
    rows: dict[str, Any] = {}
    if shown["serial"]:
        rows[say("phone.field.serial")] = f"{shown['serial']} · {shown['package']} · {shown['user']}"
    if condition := shown["condition"]:
        lit = {True: "on", False: "off", None: "unknown"}[condition["awake"]]
        rows[say("phone.field.screen")] = say(f"phone.screen.{lit}") + (
            f" · {'x'.join(map(str, condition['size']))}" if condition["size"] else ""
        )
        rows[say("phone.field.lock")] = say(f"phone.lock.{condition['keyguard']}")
        rows[say("phone.field.front")] = condition["foreground"]
        rows["Android"] = condition["android"]
        rows["WhatsApp"] = condition["package_version"]
    if shown["serial"]:
        watch = shown["watch"]
        rows[say("phone.field.watch")] = " · ".join(
            filter(None, (say(f"phone.watch.{watch['state']}"), watch["why"]))
        )
    record({name: value for name, value in rows.items() if value not in (None, "")})
    if not ready and shown["detail"]:
        click.echo(say("phone.detail", detail=shown["detail"]), err=True)
    others = [one for one in shown["devices"] if one["serial"] != shown["serial"]]
    if others:
        click.echo(say("phone.others"))
        for one in others:
            model = one["properties"].get("model", "")
            click.echo(f"  {one['serial']}  {one['state']}  {model}".rstrip())
    if shown["state"] == "not_configured":
        click.echo(say("phone.choose"), err=True)


@phone.command("use", help=say("phone.use"))
@click.argument("serial", required=False)
@click.option("--package", type=click.Choice(["com.whatsapp", "com.whatsapp.w4b"]), help=say("phone.package"))
@click.option("--user", type=click.IntRange(0, 9999), help=say("phone.user"))
@json_option
@verb
async def use(serial: str | None, package: str | None, user: int | None, as_json: bool) -> None:
    async with app() as client:
        serial = serial if serial is not None else await _only(client)
        body = {"serial": serial, "package": package, "user": user}
        shown = await client.call(
            "POST", "/api/phone/use", {name: value for name, value in body.items() if value is not None}
        )
    if as_json:
        dump(shown)
    else:
        click.echo(say("phone.used" if serial else "phone.unused", serial=serial), err=True)
        show(shown)


async def _only(client: Any) -> str:
    """The one phone that is there, when nobody says which."""
    devices = (await client.get("/api/phone"))["devices"]
    if len(devices) == 1:
        return str(devices[0]["serial"])
    if not devices:
        raise NotFound(say("phone.none"))
    table(devices, ("serial", "state"))
    raise NotFound(say("phone.which"))


@phone.command("connect", help=say("phone.connect"))
@click.argument("address")
@json_option
@verb
async def connect(address: str, as_json: bool) -> None:
    async with app() as client:
        found = await client.call("POST", "/api/phone/connect", {"address": address})
    if as_json:
        dump(found)
        return
    click.echo(say("phone.connected", serial=found["serial"], state=found["state"]), err=True)
    if not found["pinned"]:
        click.echo(say("phone.pin", serial=found["serial"]), err=True)


@phone.command("pair", help=say("phone.pair"))
@click.argument("address")
@click.argument("code", required=False)
@json_option
@verb
async def pair(address: str, code: str | None, as_json: bool) -> None:
    if code is None:
        code = click.prompt(say("phone.code"), err=True)
    async with app() as client:
        found = await client.call("POST", "/api/phone/pair", {"address": address, "code": code})
    if as_json:
        dump(found)
    else:
        click.echo(say("phone.paired"), err=True)


@phone.command("screenshot", help=say("phone.screenshot"))
@click.argument("file", required=False, type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@json_option
@verb
async def screenshot(file: Path | None, as_json: bool) -> None:
    async with app() as client:
        data = await client.data("/api/phone/screenshot")
    if str(file) == "-":
        sys.stdout.buffer.write(data)
        return
    path = file or Path(f"phone_{datetime.now().astimezone():%Y-%m-%d_%H.%M.%S}.png")
    try:
        path.write_bytes(data)
    except OSError as error:
        raise Unavailable(say("phone.not_saved", path=path, why=error.strerror)) from error
    if as_json:
        dump({"path": str(path.absolute()), "bytes": len(data)})
    else:
        click.echo(path)


@phone.command("watch", help=say("phone.watch"))
@json_option
@verb
async def watch(as_json: bool) -> None:
    found = running(Home.find())
    if not (found and await health(found[1])):
        raise Unavailable(say("daemon.down"))
    async with app() as client:
        if not as_json:
            shown = await client.get("/api/phone")
            click.echo(narrated("phone_state", shown, language()), err=shown["state"] != "ready")
        async for name, data in client.events():
            line = narrated(name, data, language())
            if line is None:
                continue
            if as_json:
                click.echo(_compact(name, data))
            else:
                click.echo(f"{datetime.now().astimezone():%H:%M:%S}  {line}")
    raise ApxError(say("gone"))


def _compact(name: str, data: dict[str, Any]) -> str:
    import json

    return json.dumps({"event": name, **data}, ensure_ascii=False)
