"""The phone: whether it can be used, what to do when it cannot, which one it is, and what is on its screen now."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPixmap, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from core.errors import ApxError, PhoneUnreachable
from desktop import pieces, theme
from desktop.pieces import Card, Chip
from desktop.slots import slot
from desktop.window import Screen
from desktop.words import Words

STATES = (
    "ready",
    "not_configured",
    "no_adb",
    "absent",
    "unauthorized",
    "offline",
    "no_permissions",
    "other_phone",
    "locked",
    "whatsapp_missing",
    "whatsapp_stuck",
    "input_forbidden",
    "busy",
    "timeout",
)
TONES = {"ready": "accent", "not_configured": "warn", "busy": "info", "locked": "warn"}


@dataclass(frozen=True, slots=True)
class Attached:
    """A phone that adb lists; `usable` is whether it has accepted this computer."""

    serial: str
    name: str
    state: str
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the phone: a state of `STATES`, and the technical line behind it."""

    state: str
    name: str = ""
    serial: str = ""
    detail: str = ""


class Picture(QLabel):
    """A picture of the phone's screen, as large as there is room."""

    def __init__(self) -> None:
        super().__init__()
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setMinimumSize(200, 320)
        self._whole = QPixmap()
        theme.current().changed.connect(self._draw)
        self._draw()

    @property
    def empty(self) -> bool:
        """Whether no picture was taken yet."""
        return self._whole.isNull()

    def show_png(self, png: bytes) -> bool:
        self._whole = QPixmap()
        fine = self._whole.loadFromData(png, "PNG")
        self._draw()
        return fine

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._draw()

    def sizeHint(self) -> QSize:
        return QSize(280, 520)

    def _draw(self) -> None:
        if self._whole.isNull():
            self.setPixmap(theme.icon("phone", "faint").pixmap(QSize(72, 72)))
            return
        ratio = self.devicePixelRatioF()
        fitted = self._whole.scaled(
            self.size() * ratio,
            Qt.AspectRatioMode.KeepAspectRatio,
            Qt.TransformationMode.SmoothTransformation,
        )
        fitted.setDevicePixelRatio(ratio)
        self.setPixmap(fitted)


class PhoneScreen(Screen):
    """Asks only when it is looked at or told that something changed; a picture is taken only on request."""

    def __init__(
        self,
        words: Words,
        *,
        state: Callable[[], Awaitable[Known]],
        attached: Callable[[], Awaitable[Sequence[Attached]]],
        choose: Callable[[str], Awaitable[None]],
        picture: Callable[[], Awaitable[bytes]],
        more: Sequence[QWidget] = (),
    ) -> None:
        super().__init__(words, "phone")
        self._state, self._attached, self._choose, self._take = state, attached, choose, picture
        self.known: Known | None = None
        self._phones: Sequence[Attached] | None = None  # not asked yet
        self._listed = ""
        self._looking = False
        self.look = pieces.button("", "refresh", self.refresh)
        self.bar.addWidget(self.look)
        left = QVBoxLayout()
        left.setSpacing(12)
        left.addWidget(self._state_card())
        left.addWidget(self._phones_card())
        for card in more:
            left.addWidget(card)
        left.addStretch()
        inside = QWidget()
        columns = QHBoxLayout(inside)
        columns.setContentsMargins(24, 20, 24, 20)
        columns.setSpacing(20)
        columns.addLayout(left, 3)
        columns.addWidget(self._picture_card(), 2)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(inside)
        self.column.addWidget(area, 1)
        self.retitle()

    def _state_card(self) -> Card:
        self.state_card = Card()
        self.state_chip = Chip()
        self.name = pieces.Elided(role="strong")
        self.remedy = pieces.label(wrap=True)
        self.more = pieces.button("quiet", press=self._toggle)
        self.more.setProperty("small", True)
        self.detail = pieces.label(role="code", wrap=True)
        self.detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.detail.hide()
        head = pieces.row(self.state_chip, gap=10)
        head.addWidget(self.name, 1)
        self.state_card.column.addLayout(head)
        self.state_card.column.addWidget(self.remedy)
        self.state_card.column.addLayout(pieces.row(self.more, 1))
        self.state_card.column.addWidget(self.detail)
        return self.state_card

    def _phones_card(self) -> Card:
        card = Card()
        self.phones_title = pieces.label(role="strong")
        self.phones_help = pieces.label(role="small", wrap=True)
        self.phones = QVBoxLayout()
        self.phones.setSpacing(6)
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        for widget in (self.phones_title, self.phones_help):
            card.column.addWidget(widget)
        card.column.addLayout(self.phones)
        card.column.addWidget(self.wrong)
        return card

    def _picture_card(self) -> Card:
        card = Card()
        card.setMaximumWidth(420)
        self.picture_title = pieces.label(role="strong")
        self.shoot = pieces.button("", "image", self.take)
        self.picture = Picture()
        self.picture_why = pieces.label(role="small", wrap=True)
        head = pieces.row(self.picture_title, 1, self.shoot)
        card.column.addLayout(head)
        card.column.addWidget(self.picture_why)
        card.column.addWidget(self.picture, 1)
        return card

    def retitle(self) -> None:
        super().retitle()
        said = self.words
        self.look.setText(said("phone.look"))
        self.more.setText(said("phone.details"))
        self.phones_title.setText(said("phone.attached"))
        self.phones_help.setText(said("phone.attached.help"))
        self.picture_title.setText(said("phone.picture"))
        self.shoot.setText(said("phone.shoot"))
        self.picture_why.setText(said("phone.picture.help"))
        self._draw()

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        if self.known is None or self._phones is None:
            self.refresh()

    @slot()
    async def refresh(self) -> None:
        """Ask the phone, and adb for everything that is attached."""
        if self._looking:
            return
        self._looking = True
        self.look.setEnabled(False)
        try:
            try:
                self.known = await self._state()
            except PhoneUnreachable as error:
                self.known = Known(error.state, detail=str(error))
            except ApxError as error:
                self.known = Known("offline", detail=str(error))
            try:
                self._phones, self._listed = await self._attached(), ""
            except ApxError as error:
                self._phones, self._listed = (), str(error)
        finally:
            self._looking = False
            self.look.setEnabled(True)
        self._draw()

    def tell(self, known: Known) -> None:
        """An event said how the phone is; what is attached may be something else now."""
        self.known = known
        if not self._looking:
            self._phones = None
        self._draw()
        if self.isVisible():
            self.refresh()

    @slot()
    async def take(self) -> None:
        """One picture of the screen, now."""
        if not self.shoot.isEnabled():
            return
        self.shoot.setEnabled(False)
        self.picture_why.setText(self.words("phone.shooting"))
        try:
            fine = self.picture.show_png(await self._take())
            self.picture_why.setText(self.words("phone.picture.help" if fine else "phone.picture.broken"))
        except ApxError as error:
            self.picture_why.setText(self._sentence(error))
        finally:
            self.shoot.setEnabled(True)

    @slot(str)
    async def pick(self, serial: str) -> None:
        """Use that phone from now on, and no other."""
        self.wrong.hide()
        try:
            await self._choose(serial)
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
        self.known = None
        await self.refresh()

    def _sentence(self, error: ApxError) -> str:
        if isinstance(error, PhoneUnreachable) and error.state in STATES:
            return self.words(f"phone.{error.state}.remedy")
        return str(error)

    def _toggle(self) -> None:
        self.detail.setVisible(self.detail.isHidden())

    def _draw(self) -> None:
        said = self.words
        known = self.known
        state = known.state if known is not None and known.state in STATES else "offline"
        if known is None:
            self.state_chip.say(said("phone.looking"))
            self.name.say("")
            self.remedy.setText("")
        else:
            self.state_chip.say(said(f"phone.{state}.short"), TONES.get(state, "danger"))
            chosen = next((one.name for one in self._phones or () if one.chosen), "")
            self.name.say(known.name or chosen or known.serial)
            self.remedy.setText(said(f"phone.{state}.remedy"))
        self.remedy.setVisible(known is not None)
        self.detail.setText(known.detail if known else "")
        self.more.setVisible(bool(known and known.detail))
        if not (known and known.detail):
            self.detail.hide()
        tone = "" if known is None or state == "ready" else TONES.get(state, "danger")
        self.state_card.tone(tone)
        self.shoot.setEnabled(known is not None and state not in {"not_configured", "no_adb", "absent"})
        pieces.clear(self.phones)
        for phone in self._phones or ():
            self.phones.addWidget(self._phone_row(phone))
        if self._phones is None:
            self.phones.addWidget(pieces.label(said("phone.looking"), "muted"))
        elif not self._phones:
            text = self._listed and said("phone.no_adb.remedy")
            self.phones.addWidget(pieces.label(text or said("phone.none"), "muted", wrap=True))

    def _phone_row(self, phone: Attached) -> QWidget:
        said = self.words
        row = QWidget()
        name = pieces.Elided(phone.name or phone.serial)
        serial = pieces.Elided(phone.serial, "tool")
        names = QVBoxLayout()
        names.setSpacing(0)
        names.addWidget(name)
        names.addWidget(serial)
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 4, 0, 4)
        line.addLayout(names, 1)
        if phone.chosen:
            line.addWidget(Chip(said("phone.chosen"), "accent"))
        else:
            if phone.state != "device":
                line.addWidget(Chip(said("phone.unauthorized.short"), "warn"))
            use = pieces.button(press=lambda: self.pick(phone.serial))
            use.setText(said("phone.use"))
            use.setProperty("small", True)
            pieces.name(use, said("phone.use.name", name=phone.name or phone.serial))
            line.addWidget(use)
        return row
