"""Settings rows built from the declarations: title, help, bounds and choices are written once, beside the field.

A change applies at once and says so under its row; what does not hold says why there, and the text stays.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import pieces
from desktop.settings import editors
from desktop.slots import slot
from desktop.words import Words

SAID_MS = 4000
SECRETS = ("api_key", "bot_token")
LONG = ("personality", "owner_context")

Apply = Callable[[str, Any], Awaitable[object]]


class Row(QWidget):
    """Title, help, editor, and one line for what came of a change. `side` puts the editor beside the title."""

    applied = Signal()

    def __init__(
        self,
        words: Words,
        key: str,
        editor: QWidget,
        apply: Callable[[Any], Awaitable[object]],
        *,
        side: bool = False,
    ) -> None:
        super().__init__()
        self._words, self._key, self.editor, self._apply = words, key, editor, apply
        self._saving = self._again = False
        self.title = pieces.label(wrap=False)
        self.help = pieces.label(role="small", wrap=True)
        self.said = pieces.label(role="small", wrap=True)
        self.said.hide()
        self.title.setBuddy(editor)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        if side:
            texts = QVBoxLayout()
            texts.setSpacing(2)
            texts.addWidget(self.title)
            texts.addWidget(self.help)
            line = QHBoxLayout()
            line.setSpacing(16)
            line.addLayout(texts, 1)
            line.addWidget(editor)
            column.addLayout(line)
        else:
            for widget in (self.title, self.help, editor):
                column.addWidget(widget)
        column.addWidget(self.said)
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(SAID_MS)
        self._quiet.timeout.connect(self.said.hide)
        editor.changed.connect(self.take)  # type: ignore[attr-defined]
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        self.title.setText(self._words(self._key))
        try:
            self.help.setText(self._words(f"{self._key}.help"))
        except KeyError:
            self.help.clear()
        self.help.setVisible(bool(self.help.text()))
        pieces.name(self.editor, self.title.text())
        self.editor.setAccessibleDescription(self.help.text())

    @slot()
    async def take(self) -> None:
        """Apply what is in the editor; a change that comes meanwhile is applied after it."""
        if self._saving:
            self._again = True
            return
        self._saving = True
        try:
            await self._apply(self.editor.value())  # type: ignore[attr-defined]
        except ApxError as error:
            self.say(str(error), wrong=True)
        else:
            self.say(self._words("settings.applied"))
            self.applied.emit()
        finally:
            self._saving = False
        if self._again:
            self._again = False
            await self.take()

    def say(self, text: str, *, wrong: bool = False) -> None:
        """What came of it, under the row."""
        pieces.put(self.said, "role", "error" if wrong else "small")
        self.said.setText(text)
        self.said.show()
        self.editor.wrong(wrong)  # type: ignore[attr-defined]
        if wrong:
            self._quiet.stop()
        else:
            self._quiet.start()

    def put(self, value: Any) -> None:
        """Show the value in force, unless a wrong one is being corrected here."""
        if self.said.isHidden() or self.said.property("role") != "error":
            self.editor.put(value)  # type: ignore[attr-defined]


class Form(QWidget):
    """One row for each titled field of a section. A field without a title is not for people."""

    def __init__(
        self, words: Words, section: BaseModel, apply: Apply, *, names: Sequence[str] = (), gap: int = 16
    ) -> None:
        super().__init__()
        self._words = words
        self.rows: dict[str, Row] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(gap)
        fields = type(section).model_fields
        for name in names or tuple(fields):
            field = fields[name]
            if not field.title:
                continue
            row = self._row(name, field, apply)
            row.put(getattr(section, name))
            self.rows[name] = row
            column.addWidget(row)
        words.changed.connect(self.retitle)

    def _row(self, name: str, field: FieldInfo, apply: Apply) -> Row:
        editor = editor_for(name, field, self._words)
        editor.setObjectName(name)
        side = isinstance(editor, editors.Switch | editors.Whole | editors.Decimal)
        if isinstance(editor, editors.Choice):
            editor.setMaximumWidth(320)

        async def take(value: Any) -> None:
            await apply(name, value)

        return Row(self._words, str(field.title), editor, take, side=side)

    def take(self, section: BaseModel) -> None:
        """The values in force are these now."""
        for name, row in self.rows.items():
            row.put(getattr(section, name))

    def retitle(self) -> None:
        for row in self.rows.values():
            if isinstance(row.editor, editors.Choice):
                row.editor.offer([(value, _choice(self._words, row, value)) for value in _values(row.editor)])


def _values(editor: editors.Choice) -> list[Any]:
    return [editor.itemData(place) for place in range(editor.count())]


def _choice(words: Words, row: Row, value: Any) -> str:
    return words(f"{row._key}.{value}")


def editor_for(name: str, field: FieldInfo, words: Words) -> QWidget:
    """The editor that fits a declaration."""
    kind = field.annotation
    low, high = bounds(field)
    if name in SECRETS:
        return editors.Secret(words("settings.secret.show"), words("settings.secret.stored"))
    if kind is bool:
        return editors.Switch()
    if get_origin(kind) is Literal:
        return editors.Choice([(value, words(f"{field.title}.{value}")) for value in get_args(kind)])
    if kind is int:
        return editors.Whole(
            int(low if low is not None else -(2**31)), int(high if high is not None else 2**31 - 1)
        )
    if kind is float:
        return editors.Decimal(low if low is not None else -1e9, high if high is not None else 1e9)
    if get_origin(kind) in {tuple, list}:
        return editors.Items()
    return editors.Lines() if name in LONG else editors.Line()


def bounds(field: FieldInfo) -> tuple[float | None, float | None]:
    """The least and the greatest value of a declaration."""
    low = next((one.ge for one in field.metadata if hasattr(one, "ge")), None)
    high = next((one.le for one in field.metadata if hasattr(one, "le")), None)
    return low, high
