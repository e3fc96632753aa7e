"""What the owner asks: everything they wrote since the last answer, and what has to be known about it."""

import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from core.channels.telegram_update import Inbound, InboundFile, one_line
from core.texts import t

CHOSEN = 0  # in the place of a message's number: an answer that was chosen and not written
WAITED = timedelta(minutes=10)  # after this it is said how long the words have waited


@dataclass(slots=True)
class Question:
    """What the owner wrote since the last answer; `updates` are the rows that it settles.

    `texts` are kept by message, so that an edit takes the place of what it edits. `groups` are the albums that it
    has files of, `waited` the times of what had to wait for the app.
    """

    key: str
    updates: list[int] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    files: list[InboundFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)
    waited: list[datetime] = field(default_factory=list)
    begun: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.texts.values())

    def take(self, before: "Question") -> None:
        """Answer an earlier question together with this one, in its order."""
        self.updates[:0] = before.updates  # in place: whoever began the question keeps this list
        self.texts = before.texts | self.texts
        self.files = before.files + self.files
        self.notes = before.notes + self.notes
        self.groups |= before.groups
        self.waited = before.waited + self.waited

    def belongs_to(self, before: "Question") -> bool:
        """It completes or corrects an earlier question: one more file of its album, or an edit of its words."""
        return bool(self.groups & before.groups or (self.texts.keys() & before.texts.keys()) - {CHOSEN})


def same(one: str, other: str) -> bool:
    """The same words; case, accents and punctuation do not make another question."""

    def bare(text: str) -> str:
        letters = unicodedata.normalize("NFKD", text.casefold())
        return "".join(letter for letter in letters if letter.isalnum())

    return bool(bare(one)) and bare(one) == bare(other)


def age(inbound: Inbound) -> timedelta:
    """How long ago it was written."""
    return datetime.now(UTC) - (inbound.sent_at or datetime.now(UTC))


def add(question: Question, inbound: Inbound, lang: str, *, before: str, skill: str) -> None:
    """One more message belongs to a question; `before` is what an edited one said, `skill` what it calls.

    Whose words are quoted or passed on is said beside them: they ask for nothing.
    """
    notes = question.notes
    if inbound.text:
        label = f"{t('telegram.forwarded', lang)}\n" if inbound.forwarded else ""
        question.texts[inbound.message_id] = f"{label}{inbound.text}"
    if inbound.file:
        question.files.append(inbound.file)
    if inbound.group:
        question.groups.add(inbound.group)
    if inbound.forwarded_by:
        notes.append(t("telegram.forwarded_by", lang, name=inbound.forwarded_by))
    if inbound.quoted:
        who, text = inbound.quoted_by or "?", one_line(inbound.quoted, 500)
        notes.append(t("telegram.in_reply_to", lang, name=who, text=text))
    if inbound.kind == "edit":
        notes.append(t("telegram.edited", lang, text=one_line(before, 300) or "?"))
    if skill:
        notes.append(t("telegram.skill", lang, name=skill))
    if age(inbound) > WAITED and inbound.sent_at:
        question.waited.append(inbound.sent_at)


def waited(question: Question, lang: str) -> dict[str, object]:
    """Tell the turn what had to wait for the app; the values of the sentence, empty when nothing did."""
    if not question.waited:
        return {}
    n, at = len(question.waited), f"{min(question.waited).astimezone():%d/%m %H:%M}"
    question.notes.append(t("telegram.waited" if n == 1 else "telegram.waited_many", lang, at=at, n=n))
    return {"n": n, "at": at}
