"""Which row draws which line of the conversation, and what the rows are given to do their work."""

from collections.abc import Callable
from dataclasses import dataclass

from desktop.files import FileRow, PicturedRow, Save
from desktop.messages import Entry, Kind
from desktop.rows import AgentRow, ErrorRow, NoteRow, OwnerRow, Row, ToolRow
from desktop.words import Words


def _nothing(*_: object) -> None:
    """What a row does that nobody listens to."""


@dataclass(frozen=True, slots=True)
class Deeds:
    """What the rows of a conversation can do: save a file, try again, answer a card of questions."""

    save: Save
    again: Callable[[Entry], object] = _nothing
    answer: Callable[[Entry, str], object] = _nothing


def row_for(entry: Entry, words: Words, deeds: Deeds) -> Row:
    """The widget of an entry."""
    match entry.kind:
        case Kind.FILE:
            return FileRow(entry, words, deeds.save)
        case Kind.ERROR:
            return ErrorRow(entry, words, deeds.again)
        case Kind.QUESTIONS:
            from desktop.asked import QuestionsRow  # few conversations have one

            return QuestionsRow(entry, words, deeds.answer)
        case Kind.HANDOVER:
            from desktop.handed import HandoverRow

            return HandoverRow(entry, words)
        case Kind.SPEAKER:
            from desktop.speaker import SpeakerRow  # only in rooms

            return SpeakerRow(entry, words)
        case Kind.OWNER:
            return PicturedRow(entry, words) if entry.files else OwnerRow(entry, words)
        case Kind.AGENT:
            return AgentRow(entry, words)
        case Kind.TOOL:
            return ToolRow(entry, words)
    return NoteRow(entry, words)
