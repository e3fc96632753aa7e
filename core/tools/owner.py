"""What reaches the owner besides the answer itself, and who the assistant is to them."""

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from core import projects
from core.delivery import deliver
from core.errors import Invalid, Refused
from core.outbox import Message
from core.tool import Context, Effect, tool


class Arguments(BaseModel):
    """Arguments of these tools: what is not declared is a mistake of the model, and told to it."""

    model_config = ConfigDict(extra="forbid")


class SendFile(Arguments):
    path: str = Field(
        description="Where the file is: absolute, below ~, or relative to the project.", max_length=4096
    )
    caption: str = Field("", description="A line that is shown with it.", max_length=1000)
    name: str = Field("", description="Another name to show it under.", max_length=200)


@tool(Effect.WRITE, group="owner")
async def send_file(args: SendFile, ctx: Context) -> str:
    """Deliver a file from this computer to the owner, together with your answer: a screenshot, an image, a report.

    Making a file does not send it; this does. Say that it was sent only if this says so.
    """
    if ctx.attach is None:
        raise Refused(f"Files cannot be delivered on {ctx.turn.channel}.")
    file = await deliver(
        args.path,
        caption=args.caption,
        name=args.name,
        policy=ctx.config.now.file_delivery,
        home=ctx.home,
        project_root=await projects.root(ctx.store, ctx.home, ctx.turn.project_id),
        store=ctx.store,
        run_id=ctx.run_id,
        lang=ctx.identity.language,
    )
    await ctx.attach(file)
    return f"{file.name} ({file.kind}, {file.size} bytes) goes with the answer."


# A file written out as letters: named as one, or a run of them that no language has.
_LETTERS = re.compile(r"base64,|data:[a-z]+/[a-z0-9.+-]+[;,]|[A-Za-z0-9+/]{500}")


class SendTelegram(Arguments):
    text: str = Field(description="The message, in plain text.", min_length=1, max_length=20_000)


@tool(Effect.SEND, group="owner")
async def send_telegram(args: SendTelegram, ctx: Context) -> str:
    """Send the owner a message on Telegram, now and apart from your answer.

    Not for answering a conversation that already is on Telegram: the answer goes there by itself.
    """
    if _LETTERS.search(args.text):
        raise Invalid("Encoded files cannot be sent as text. Use send_file with the path.")
    message = Message(
        channel="telegram", to="owner", kind="text", text=args.text, origin={"run_id": ctx.run_id}
    )
    id = await ctx.outbox.post(message)
    return f"Queued for Telegram as {id}; whether it arrived is not known yet."


class SetIdentity(Arguments):
    agent_name: str | None = Field(None, description="What the assistant is called.", max_length=60)
    owner_name: str | None = Field(None, description="What the owner is called.", max_length=80)
    personality: str | None = Field(None, description="How the assistant speaks.", max_length=1000)
    owner_context: str | None = Field(
        None, description="What is good to know about the owner.", max_length=4000
    )
    language: str | None = Field(None, description="A language code such as es or en.", max_length=20)
    timezone: str | None = Field(None, description="An IANA time zone such as Europe/Madrid.", max_length=60)


@tool(Effect.WRITE, group="owner")
async def set_identity(args: SetIdentity, ctx: Context) -> str:
    """Change the assistant's name or manner, or what is known of the owner, when the owner asks for it.

    Only the fields that are given change, at once and everywhere.
    """
    changes: dict[str, Any] = args.model_dump(exclude_none=True)
    if not changes:
        raise Invalid("Name at least one field to change.")
    await ctx.identity.set(**changes)
    return f"Changed: {', '.join(sorted(changes))}."


TOOLS = (send_file, send_telegram, set_identity)
