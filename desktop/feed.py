"""The core's events as Qt signals: the whole way from one world to the other."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:  # the window is painted before the core's modules are read
    from core.events import Bus, Event


class Feed(QObject):
    """Emitting is safe without a queue: core and Qt share one thread and one loop.

    `happened` carries every event; the others are for widgets that care about one thing.
    """

    happened = Signal(object)
    run_started = Signal(object)
    run_closed = Signal(object)
    said = Signal(object)
    tool_started = Signal(object)
    tool_finished = Signal(object)
    file_delivered = Signal(object)
    rounds_changed = Signal()
    questions_changed = Signal()
    rooms_changed = Signal()
    tasks_changed = Signal()
    job_changed = Signal(object)
    titled = Signal(object)
    memory_changed = Signal()
    phone_changed = Signal(object)
    channel_changed = Signal(object)
    owner_claimed = Signal(object)
    identity_changed = Signal(object)
    config_changed = Signal(object)
    config_rejected = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._leave: Callable[[], None] | None = None
        self._signals: dict[type[Event], Callable[[Event], None]] = {}

    def listen(self, bus: "Bus") -> None:
        """Tell what happens on this bus until `close`."""
        from core import events

        self.close()
        self._signals = {
            events.RunStarted: self.run_started.emit,
            events.RunClosed: self.run_closed.emit,
            events.Said: self.said.emit,
            events.ToolStarted: self.tool_started.emit,
            events.ToolFinished: self.tool_finished.emit,
            events.FileDelivered: self.file_delivered.emit,
            events.PhoneState: self.phone_changed.emit,
            events.ChannelState: self.channel_changed.emit,
            events.OwnerClaimed: self.owner_claimed.emit,
            events.IdentityChanged: self.identity_changed.emit,
            events.ConfigChanged: self.config_changed.emit,
            events.ConfigRejected: self.config_rejected.emit,
            events.RoundStarted: lambda _: self.rounds_changed.emit(),
            events.ConversationRead: lambda _: self.rounds_changed.emit(),
            events.ConversationDecided: lambda _: self.rounds_changed.emit(),
            events.RoundClosed: lambda _: self.rounds_changed.emit(),
            events.AlertRelayed: lambda _: self.rounds_changed.emit(),
            events.Delivery: lambda _: self.rounds_changed.emit(),
            events.QuestionAsked: lambda _: self.questions_changed.emit(),
            events.QuestionAnswered: lambda _: self.questions_changed.emit(),
            events.ApprovalRequested: lambda _: self.questions_changed.emit(),
            events.ApprovalDecided: lambda _: self.questions_changed.emit(),
        }
        self._signals |= {events.BackgroundJob: self.job_changed.emit, events.ThreadTitled: self.titled.emit}
        for kind in (events.RoomChanged, events.RoomAsked, events.SpeakerEnded, events.RoomSettled):
            self._signals[kind] = lambda _: self.rooms_changed.emit()
        self._signals[events.TaskChanged] = lambda _: self.tasks_changed.emit()
        self._signals[events.MemoryChanged] = lambda _: self.memory_changed.emit()
        self._leave = bus.subscribe(events.Event, self._tell)

    def close(self) -> None:
        """Hear nothing more."""
        if self._leave is not None:
            self._leave()
            self._leave = None

    def _tell(self, event: "Event") -> None:
        self.happened.emit(event)
        if (emit := self._signals.get(type(event))) is not None:
            emit(event)
