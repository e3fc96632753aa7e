"""What the owner's turns may do with the phone itself: look at it, touch it, open things on it.

Looking is reading; touching, typing and opening act on somebody's real phone, so the gate treats them as
dangerous. What the screen says was written by others and is handed to the model as data.
"""

import asyncio
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from bridge import whatsapp_tools
from bridge.phone import Phone, Target
from bridge.report import why_not
from bridge.screen import Node, Tree
from bridge.whatsapp_tools import DATA, handset
from core.errors import PhoneUnreachable
from core.tool import Context, Effect, Tool, tool
from core.tools.pictures import keep

GROUP = "phone"
MAX_LINES = 200
MAX_TEXT = 300
SCREEN_PIXELS = 20_000


class Arguments(BaseModel):
    """Arguments of these tools: what is not declared is a mistake of the model, and told to it."""

    model_config = ConfigDict(extra="forbid")


class Tap(Arguments):
    x: int = Field(description="From the left, in the coordinates of phone_ui.", ge=0, le=SCREEN_PIXELS)
    y: int = Field(description="From the top.", ge=0, le=SCREEN_PIXELS)


class Type(Arguments):
    text: str = Field(
        description="Plain letters, digits and signs; accents and emoji cannot be typed.",
        min_length=1,
        max_length=2000,
    )


class Press(Arguments):
    key: str = Field(
        description="A key of Android, such as HOME, BACK, ENTER, DEL, WAKEUP, VOLUME_UP.",
        pattern=r"^(KEYCODE_)?[A-Z][A-Z0-9_]{0,40}$|^\d{1,3}$",
    )


class Open(Arguments):
    app: str = Field(
        "", description="The app's package, such as com.android.settings; empty: WhatsApp.", max_length=200
    )
    link: str = Field("", description="A link that this app opens; empty: the app itself.", max_length=2000)


@tool(Effect.READ, group=GROUP)
async def phone_state(args: Arguments, ctx: Context) -> str:
    """How the owner's phone is: reachable or not and why, screen, lock, app in front, battery of facts."""
    hand = handset(ctx)
    state, condition, detail = await hand.look()
    lines = [f"{state}: {why_not(state, ctx.identity.language)}"]
    if hand.target.serial:
        lines.append(f"phone {hand.target.serial}, app {hand.target.package}, user {hand.target.user}")
    if condition is not None:
        lit = {True: "on", False: "off", None: "unknown"}[condition.awake]
        size = "x".join(map(str, condition.size)) if condition.size else "unknown"
        lines += [
            f"screen {lit}, lock {condition.keyguard}, size {size}",
            f"in front: {condition.foreground or 'unknown'}; last touch: {_ago(condition.idle_s)}",
            f"Android {condition.android or 'unknown'}, WhatsApp {condition.package_version or 'unknown'}",
        ]
    if detail:
        lines.append(f"details: {detail}")
    try:
        devices = await hand.devices()
    except PhoneUnreachable:
        devices = []
    others = [f"{one.serial} ({one.state})" for one in devices if one.serial != hand.target.serial]
    if others:
        lines.append(f"also connected, not used: {', '.join(others)}")
    return "\n".join(lines)


def _ago(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds:.0f} s ago"


@tool(Effect.READ, group=GROUP)
async def phone_screenshot(args: Arguments, ctx: Context) -> str:
    """Take a picture of the phone's screen. It is kept on this computer and shown to nobody.

    Use send_file with the path in the result to deliver it to the owner.
    """
    hand = handset(ctx)
    pinned = await hand.phone()
    await pinned.present()
    picture = await pinned.screenshot()
    path = await asyncio.to_thread(keep, ctx.home, picture.data, "phone")
    return f"Screenshot taken, not sent: {path} ({picture.width}x{picture.height})"


@tool(Effect.READ, group=GROUP)
async def phone_ui(args: Arguments, ctx: Context) -> str:
    """What is on the phone's screen, as text: words, what can be tapped, and where. For phone_tap."""
    hand = handset(ctx)
    pinned = await hand.phone()
    await pinned.present()
    return outline(await pinned.tree())


def outline(tree: Tree) -> str:
    """A screen for a reader without eyes: one line for each thing that says something or can be used."""
    lines: list[str] = []
    left = 0

    def walk(node: Node, depth: int) -> None:
        nonlocal left
        said = _line(node)
        if said:
            if len(lines) < MAX_LINES:
                lines.append(f"{'  ' * min(depth, 8)}{said}")
            else:
                left += 1
        for child in node.children:
            walk(child, depth + 1 if said else depth)

    walk(tree.root, 0)
    head = f"{tree.package or 'unknown app'}, {tree.size[0]}x{tree.size[1]}. {DATA}"
    more = [f"[{left} more]"] if left else []
    return "\n".join([head, *lines, *more])


def _line(node: Node) -> str:
    words = "[hidden]" if node.password else " ".join((node.text or node.desc or node.hint).split())
    can = [
        name
        for name, on in (
            ("tap", node.clickable),
            ("type", node.focusable and node.cls.endswith("EditText")),
            ("scroll", node.scrollable),
            ("checked", node.checked),
            ("selected", node.selected),
            ("focused", node.focused),
            ("disabled", not node.enabled),
        )
        if on
    ]
    if not words and not (node.clickable or node.scrollable):
        return ""
    x, y = node.center
    cut = words if len(words) <= MAX_TEXT else words[: MAX_TEXT - 1] + "…"
    parts = [f"({x},{y})", f'"{cut}"' if cut else "", f"#{node.id}" if node.id else "", " ".join(can)]
    return " ".join(part for part in parts if part)


@tool(Effect.DANGER, group=GROUP)
async def phone_tap(args: Tap, ctx: Context) -> str:
    """Touch the phone's screen at a point. Look at it afterwards with phone_ui to see what that did."""
    async with handset(ctx).touched() as pinned:
        await pinned.tap(args.x, args.y)
    return f"Tapped at {args.x},{args.y}."


@tool(Effect.DANGER, group=GROUP)
async def phone_type(args: Type, ctx: Context) -> str:
    """Type into the field that has the focus on the phone. For answering a chat use whatsapp_send instead."""
    async with handset(ctx).touched() as pinned:
        await pinned.text(args.text)
    return f"Typed {len(args.text)} characters."


@tool(Effect.DANGER, group=GROUP)
async def phone_key(args: Press, ctx: Context) -> str:
    """Press a key of the phone. HOME leaves WhatsApp, which has to be in the background to raise alerts."""
    code: Any = int(args.key) if args.key.isdigit() else args.key
    async with handset(ctx).touched() as pinned:
        await pinned.key(code)
    return f"Pressed {args.key}."


@tool(Effect.DANGER, group=GROUP)
async def phone_open(args: Open, ctx: Context) -> str:
    """Open an app on the phone, or a link in that app, and leave it in front."""
    hand = handset(ctx)
    target = hand.target
    async with hand.touched() as pinned:
        if args.app and args.app != target.package:
            pinned = Phone(await hand.adb(), Target(target.serial, args.app, target.user))
        await pinned.wake()
        if args.link:
            await pinned.open_url(args.link)
        else:
            await pinned.launch()
    app = args.app or target.package
    note = " While it stays in front it raises no alerts: press HOME when done." if "whatsapp" in app else ""
    return f"Opened {app}.{note}"


TOOLS: tuple[Tool, ...] = (
    *(phone_state, phone_screenshot, phone_ui, phone_tap, phone_type, phone_key, phone_open),
    *whatsapp_tools.TOOLS,
)
