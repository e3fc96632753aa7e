"""Whose chats are treated how: a row for each person, and one rule for everybody else elsewhere."""

from collections.abc import Mapping
from typing import Any, get_args

from PySide6.QtCore import QTime, Signal
from PySide6.QtWidgets import QGridLayout, QTimeEdit, QVBoxLayout, QWidget

from core.settings import Contact, Posture
from desktop import pieces
from desktop.settings.editors import Choice, Line, Switch
from desktop.words import Words

POSTURES = get_args(Posture)


class Person(pieces.Card):
    """One contact: name, what may be done in their chat, and what to keep in mind when answering."""

    changed = Signal()
    removed = Signal()

    def __init__(self, words: Words, contact: Mapping[str, Any]) -> None:
        super().__init__(pad=12)
        self._words, self._contact = words, dict(contact)
        self.name = Line()
        self.name.put(contact["name"])
        self.number = Line()
        self.number.put(contact["number"])
        self.posture = Choice([(one, "") for one in POSTURES])
        self.posture.put(contact["posture"])
        self.note = Line()
        self.note.put(contact["note"])
        self.remove = pieces.button("quiet", "trash", self.removed.emit)
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(8)
        grid.addWidget(self.name, 0, 0)
        grid.addWidget(self.number, 0, 1)
        grid.addWidget(self.remove, 0, 2)
        grid.addWidget(self.posture, 1, 0)
        grid.addWidget(self.note, 1, 1, 1, 2)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        self.column.addLayout(grid)
        for editor in (self.name, self.number, self.posture, self.note):
            editor.changed.connect(self.changed)
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        said = self._words
        self.posture.offer([(one, said(f"settings.whatsapp.posture.{one}")) for one in POSTURES])
        for editor, key in ((self.name, "name"), (self.number, "number"), (self.note, "note")):
            editor.setPlaceholderText(said(f"settings.contacts.{key}"))
            pieces.name(editor, said(f"settings.contacts.{key}"))
        pieces.name(self.posture, said("settings.contacts.posture"))
        pieces.name(self.remove, said("settings.contacts.remove", name=self.name.text()), tip=True)

    def value(self) -> dict[str, Any]:
        return self._contact | {
            "name": self.name.value(),
            "number": self.number.value(),
            "posture": self.posture.value(),
            "note": self.note.value(),
        }


class People(QWidget):
    """An editor of all contacts; one without name and number is not kept yet."""

    changed = Signal()

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words
        self.rows: list[Person] = []
        self._kept: list[dict[str, Any]] = []
        self.none = pieces.label(role="muted", wrap=True)
        self.add = pieces.button("", "plus", self._add)
        self.list = QVBoxLayout()
        self.list.setSpacing(8)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.none)
        column.addLayout(self.list)
        column.addLayout(pieces.row(self.add, 1))
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        self.none.setText(self._words("settings.contacts.none"))
        self.add.setText(self._words("settings.contacts.add"))

    def value(self) -> list[dict[str, Any]]:
        values = [row.value() for row in self.rows]
        return [one for one in values if one["name"] or one["number"]]

    def put(self, value: Any) -> None:
        contacts = [one.model_dump() for one in value]
        if contacts == self._kept and self.rows:
            return
        self._kept = contacts
        if contacts == self.value():
            self.none.setVisible(not self.rows)
            return  # what is being written stays as it is
        pieces.clear(self.list)
        self.rows = []
        for contact in contacts:
            self._row(contact)
        self.none.setVisible(not self.rows)

    def wrong(self, is_wrong: bool) -> None:
        for row in self.rows:
            row.tone("danger" if is_wrong else "")

    def _row(self, contact: Mapping[str, Any]) -> Person:
        row = Person(self._words, contact)
        row.changed.connect(self.changed)
        row.removed.connect(lambda: self._remove(row))
        self.rows.append(row)
        self.list.addWidget(row)
        return row

    def _add(self) -> None:
        self.none.hide()
        self._row(Contact().model_dump()).name.setFocus()

    def _remove(self, row: Person) -> None:
        self.rows.remove(row)
        self.list.removeWidget(row)
        row.hide()
        row.deleteLater()
        self.none.setVisible(not self.rows)
        self.changed.emit()


class QuietHours(QWidget):
    """From when to when; off means never."""

    changed = Signal()

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words
        self.on = Switch()
        self.begin, self.end = QTimeEdit(QTime(23, 0)), QTimeEdit(QTime(7, 0))
        self.to = pieces.label(role="muted")
        for clock in (self.begin, self.end):
            clock.setDisplayFormat("HH:mm")
            clock.setFixedWidth(96)
            clock.setKeyboardTracking(False)
            clock.lineEdit().setTextMargins(10, 0, 0, 0)
            clock.timeChanged.connect(lambda _: self.changed.emit())
        self.on.changed.connect(self._switched)
        self.setLayout(pieces.row(self.on, self.begin, self.to, self.end, 1, gap=10))
        words.changed.connect(self.retitle)
        self.retitle()
        self._able()

    def retitle(self) -> None:
        said = self._words
        self.to.setText(said("settings.quiet_hours.to"))
        pieces.name(self.on, said("settings.whatsapp.quiet_hours"))
        pieces.name(self.begin, said("settings.quiet_hours.begin"))
        pieces.name(self.end, said("settings.quiet_hours.end"))

    def _able(self) -> None:
        for widget in (self.begin, self.to, self.end):
            widget.setEnabled(self.on.isChecked())

    def _switched(self) -> None:
        self._able()
        self.changed.emit()

    def value(self) -> str:
        if not self.on.isChecked():
            return ""
        return f"{self.begin.time().toString('HH:mm')}-{self.end.time().toString('HH:mm')}"

    def put(self, value: Any) -> None:
        self.on.put(bool(value))
        if value:
            for clock, text in zip((self.begin, self.end), str(value).split("-"), strict=True):
                clock.blockSignals(True)
                clock.setTime(QTime.fromString(text, "HH:mm"))
                clock.blockSignals(False)
        self._able()

    def wrong(self, is_wrong: bool) -> None:
        for clock in (self.begin, self.end):
            pieces.put(clock, "wrong", is_wrong)
