"""The owner's WhatsApp as the round uses it: open the list, find what is unread, read it, answer, leave."""

from collections.abc import Container, Iterable, Sequence

from bridge.notifications import Notice
from bridge.phone import Phone
from bridge.screen import Unexpected, Unreadable
from bridge.whatsapp.bubbles import OUT, UNREAD, unread_count
from bridge.whatsapp.chats import Chats
from bridge.whatsapp.contacts import QUERY, count_in_book, number_in_book, number_in_notices, parse_contacts
from bridge.whatsapp.profile import Profile, load_profile
from bridge.whatsapp.reading import Reader, after_seen
from bridge.whatsapp.rows import Key, Row
from bridge.whatsapp.screens import Screen, composer, header
from bridge.whatsapp.sending import Sender, refused, same_sent, same_typed
from bridge.whatsapp.surface import Look, Surface
from bridge.whatsapp.values import Chat, Message, Reading, RowGone, Sent, WrongChat
from bridge.wording import digits, same_title
from core.errors import NotFound, PhoneUnreachable, Refused, Unavailable

FINDS_PAGES = 12
NAMESAKES_PAGES = 3


class WhatsApp:
    """One WhatsApp on one phone. Whoever uses it holds the phone alone."""

    def __init__(self, phone: Phone, profile: Profile | None = None, *, patience: float = 1.0) -> None:
        self._phone = phone
        self._surface = Surface(phone, profile or load_profile(), patience)
        self.chats = Chats(self._surface)
        self._notices: tuple[Notice, ...] = ()
        self._book: list[tuple[str, str]] | None = None

    @property
    def complete(self) -> bool:
        """Whether the last sweep saw the whole list."""
        return self.chats.complete

    @property
    def skipped(self) -> list[Row]:
        """Unread rows that lead to no plain chat."""
        return self.chats.skipped

    def know(self, notices: Iterable[Notice]) -> None:
        """Take the numbers that notifications tie to chats."""
        self._notices = tuple(notices)

    async def look(self) -> Look:
        """What is on the screen, named."""
        return await self._surface.look()

    async def arrive(self) -> tuple[Chat, int | None] | None:
        """Bring WhatsApp to the front. Where it opens inside a chat, that chat, and what its divider counts as new.

        Such a chat was marked as read by the very launch, so no row of the list tells of it any more. The count
        is 0 when there is no divider, None when it says no number.
        """
        look = await self._surface.arrive()
        shown = header(look.tree, self._surface.profile) if look.screen.is_chat else None
        if shown is None:
            return None
        chat = Chat(shown.title, shown.number, can_write=look.screen is Screen.CHAT)
        page = Reader(self._surface, chat).page(look)
        divider = next((bubble for bubble in page if bubble.kind == UNREAD), None)
        return chat, unread_count(divider) if divider is not None else 0

    async def open_list(self) -> None:
        """Bring the list of chats up; `PhoneUnreachable("whatsapp_stuck")` says what stands in its way."""
        await self._surface.open_list()
        self.chats.restart()

    async def unread(self, *, archived: bool = False) -> list[Row]:
        """Every unread row, from top to end, nothing opened."""
        return await self.chats.all_unread(archived=archived)

    async def next_unread(self, done: Container[Key] = (), *, archived: bool = False) -> Row | None:
        """The next unread chat that is not done; None when a whole sweep found none."""
        return await self.chats.next_unread(done, archived=archived)

    async def open_row(self, row: Row) -> Chat:
        """Open exactly this chat, or `RowGone`, or `WrongChat` (backed out of; `next_unread` comes to it)."""
        chat = await self.chats.open_row(row)
        chat.number = chat.number or number_in_notices(chat.title, self._notices)
        return chat

    async def read(self, chat: Chat, *, unread: int | None, max_messages: int = 50) -> Reading:
        """What is new in the open chat; it stays open."""
        reading = await Reader(self._surface, chat).read(unread=unread, max_messages=max_messages)
        self.chats.paid(chat.title)
        return reading

    async def back_to_list(self, *, archived: bool = False) -> None:
        """Leave the chat for the list it was opened from."""
        await self.chats.at(archived)

    async def number_of(self, chat: Chat) -> str:
        """The chat's number if the phone tells it for certain: its title, a notification, the address book."""
        if chat.group:
            return ""
        if own := digits(chat.title):
            chat.number = own
        elif self.chats.has_namesakes(chat.title) or count_in_book(chat.title, await self._contacts()) > 1:
            chat.number = ""
        elif not chat.number:
            chat.number = number_in_notices(chat.title, self._notices) or number_in_book(
                chat.title, await self._contacts()
            )
        return chat.number

    async def enter(self, named: str) -> Chat:
        """The chat that a name or a number names, open. Of two with one name none is guessed."""
        number = digits(named)
        if not number:
            chat = Chat(named.strip())
            if not await self.number_of(chat):
                await self._only_one(chat.title)
            return await self.open_chat(chat)
        self._surface.touched()
        await self._phone.open_url(f"https://wa.me/{number}")
        look = await self._surface.until(Screen.CHAT, Screen.CHAT_READ_ONLY, Screen.DIALOG)
        shown = header(look.tree, self._surface.profile) if look.screen.is_chat else None
        if shown is None:
            await self._surface.back()
            raise NotFound(f"WhatsApp knows nobody with the number {named.strip()}.")
        return Chat(shown.title, number)

    async def _only_one(self, title: str) -> None:
        look = await self.chats.top(await self.chats.at(False))
        found: set[Key] = set()
        for _ in range(NAMESAKES_PAGES):
            here = [row.key for row in self.chats.rows(look.tree) if same_title(row.title, title)]
            found |= set(here)
            if len(here) > 1 or len(found) > 1:
                raise Refused(f"More than one chat is called {title!r}: name it by its number.")
            further = await self.chats.down(look)
            if further is None:
                break
            look = further

    async def _contacts(self) -> list[tuple[str, str]]:
        if self._book is None:
            try:
                self._book = parse_contacts(await self._phone.run(QUERY, timeout_s=10))
            except PhoneUnreachable:
                raise
            except Unavailable:  # this phone does not let the shell ask
                self._book = []
        return self._book

    async def open_chat(self, chat: Chat, *, seen: Sequence[Message] = ()) -> Chat:
        """The chat again, after it was left: by its number, else by its row; known by what was read in it."""
        look = await self._surface.current()
        if look.screen.is_chat and await self._is(chat, look, seen):
            return chat
        if await self.number_of(chat):
            self._surface.touched()
            await self._phone.open_url(f"https://wa.me/{chat.number}")
            try:
                look = await self._surface.until(
                    Screen.CHAT, Screen.CHAT_READ_ONLY, Screen.DIALOG, timeout_s=12
                )
            except Unexpected:
                look = await self._surface.look()
            if look.screen.is_chat and await self._is(chat, look, seen):
                return chat
            if look.screen is Screen.DIALOG:
                await self._surface.back()
        return await self._by_row(chat, seen)

    async def _is(self, chat: Chat, look: Look, seen: Sequence[Message]) -> bool:
        shown = header(look.tree, self._surface.profile)
        if shown is None or not same_title(shown.title, chat.title):
            return False
        known = tuple(message.bubble for message in seen if message.bubble.is_message) or chat.seen
        if not known:
            return True
        reader = Reader(self._surface, chat)
        page = reader.page(await reader.to_end(look))
        return after_seen(page, known) is not None

    async def _by_row(self, chat: Chat, seen: Sequence[Message]) -> Chat:
        """Every row of that name near the top of the list is tried until one shows what was read."""
        archived = chat.row.archived if chat.row is not None else False
        tried: set[Key] = set()
        look = await self.chats.top(await self.chats.at(archived))
        for _ in range(FINDS_PAGES):
            row = next(
                (
                    r
                    for r in self.chats.rows(look.tree)
                    if same_title(r.title, chat.title) and r.key not in tried
                ),
                None,
            )
            if row is None:
                further = await self.chats.down(look)
                if further is None:
                    break
                look = further
                continue
            tried.add(row.key)
            await self.chats.open_row(row)
            if await self._is(chat, await self._surface.current(), seen):
                return chat
            look = await self.chats.top(await self.chats.at(archived))
        raise RowGone(f"The chat {chat.title!r} was not found again by what was read in it.")

    async def reply(
        self, chat: Chat, text: str, *, seen_before: Sequence[Message] = (), insist: bool = False
    ) -> Sent:
        """Send one text into one chat and prove it; every other outcome has a name.

        Where something of ours stands below what was read, somebody has answered already and nothing is sent,
        unless the owner insists.
        """
        text = text.replace("\r\n", "\n")
        if why := refused(text):
            return Sent("not_sent", "text", why)
        self._surface.touched()  # the decision took its time
        try:
            await self.number_of(chat)
            await self.open_chat(chat, seen=seen_before)
        except (RowGone, WrongChat, Unreadable) as error:
            return Sent("not_sent", error.code, str(error))
        return await Sender(self._surface, chat, text, seen_before, insist=insist).send()

    async def verify_sent(self, chat: Chat, text: str) -> bool:
        """Whether a bubble of ours with this text stands among the last of the chat, as after a crash."""
        text = text.replace("\r\n", "\n")
        seen, chat.seen = chat.seen, ()
        try:
            await self.open_chat(chat)
        finally:
            chat.seen = seen
        reader = Reader(self._surface, chat)
        look = await reader.to_end(await reader.look())
        page = reader.page(look)
        return any(bubble.direction == OUT and same_sent(text, bubble) for bubble in page)

    async def take_back(self, chat: Chat, text: str) -> bool:
        """Whether our text stood unsent in the open chat's composer, as after a crash; it is taken out again."""
        text = text.replace("\r\n", "\n")
        reader = Reader(self._surface, chat)
        shown = composer((await reader.look()).tree, self._surface.profile)
        if not shown or not same_typed(text, shown):
            return False
        return await Sender(self._surface, chat, text, ()).take_back()

    async def leave(self) -> bool:
        """Put WhatsApp into the background; True when it is certainly not in front any more."""
        self._surface.touched()
        try:
            await self._phone.home()
        except PhoneUnreachable as error:
            if error.state != "whatsapp_stuck":
                raise
            return False
        return True
