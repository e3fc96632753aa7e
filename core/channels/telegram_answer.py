"""A run's answer as messages of the outbox: its words, the buttons of its question, its files as albums."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from core.channels.telegram_files import FILE_BYTES
from core.message import Button, Buttons, File, Message
from core.runs.spoken import without_thinking
from core.runs.turn import Attachment, Run, Status
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

ANSWER = "answer"  # buttons that stand for what the owner would write


async def post_answer(app: "App", run: Run, *, channel: str, to: str, key: str) -> None:
    """Queue everything that a run has to say; the first message has the key of the question."""
    text = without_thinking(run.text)
    if not text and not run.files:
        text = t("telegram.no_words", app.identity.language)
    origin, markup = {"run_id": run.id}, run.status in {Status.DONE, Status.BUDGET_EXCEEDED}
    if text:
        await app.outbox.post(
            Message(
                channel=channel,
                to=to,
                text=text,
                markup=markup,
                buttons=_choices(run, channel, to),
                key=key,
                origin=origin,
            )
        )
    for position, files in enumerate(_together(run.files)):
        one = files[0]
        several = len(files) > 1
        captions = dict.fromkeys(file.caption for file in files if file.caption)
        await app.outbox.post(
            Message(
                channel=channel,
                to=to,
                kind="album" if several else "photo" if one.kind == "image" else "document",
                text="\n".join(captions),
                path="" if several else str(one.path),
                name="" if several else one.name,
                files=tuple(File(str(file.path), file.name) for file in files) if several else (),
                key=key if not text and position == 0 else f"{key}/{position}",
                origin=origin,
            )
        )


def _together(files: Sequence[Attachment]) -> Iterator[list[Attachment]]:
    """Files that can arrive as one message: of one kind each, and none that is refused for its size."""
    fit = [file for file in files if file.size <= FILE_BYTES]
    for kind in (True, False):
        if group := [file for file in fit if (file.kind == "image") is kind]:
            yield group
    yield from ([file] for file in files if file.size > FILE_BYTES)


def _choices(run: Run, channel: str, to: str) -> Buttons:
    """A button for each answer that a single question offers; other questions are answered in words."""
    if len(run.questions) != 1 or run.questions[0].multiple:
        return ()
    where = {"channel": channel.removeprefix("telegram:"), "chat": to, "run_id": run.id}
    return tuple((Button(one, ANSWER, {**where, "text": one}),) for one in run.questions[0].options)
