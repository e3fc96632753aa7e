"""Which screen this is, told by markers that have no language wherever there is one."""

from dataclasses import dataclass
from enum import StrEnum

from bridge.screen import Node, Tree
from bridge.whatsapp.profile import Profile
from bridge.wording import digits, one_line


class Screen(StrEnum):
    """What WhatsApp shows. COVERED means that the window on top is another app's."""

    LIST = "list"
    ARCHIVED = "archived"
    TAB = "tab"
    CHAT = "chat"
    CHAT_READ_ONLY = "chat_read_only"
    SEARCH = "search"
    VIEWER = "viewer"
    DIALOG = "dialog"
    SELECTION = "selection"
    UPDATE_REQUIRED = "update_required"
    PIN_PROMPT = "pin_prompt"
    APP_LOCK = "app_lock"
    BACKUP_OFFER = "backup_offer"
    SHEET = "sheet"
    COVERED = "covered"
    UNKNOWN = "unknown"

    @property
    def is_chat(self) -> bool:
        return self in (Screen.CHAT, Screen.CHAT_READ_ONLY)


@dataclass(frozen=True, slots=True)
class Header:
    """What stands above an open chat; `number` only when the title is one."""

    title: str
    status: str
    number: str


def screen_of(tree: Tree, profile: Profile, package: str) -> Screen:
    """Name the screen.

    Words decide only where neither list nor chat is there to say something in their place.
    """
    if package_of(tree) != package:
        return Screen.COVERED
    has = profile.has
    chat = has(tree, "chat_title") and (has(tree, "list") or has(tree, "composer") or has(tree, "read_only"))
    listed = has(tree, "row", "row_title")
    if has(tree, "viewer") and not chat:
        return Screen.VIEWER
    if has(tree, "selection"):
        return Screen.SELECTION
    if has(tree, "search_field"):
        return Screen.SEARCH
    if chat:
        if tree.has("alertTitle") or profile.find(tree, "positive_button"):
            return Screen.DIALOG
        read_only = has(tree, "read_only") or not has(tree, "composer")
        return Screen.CHAT_READ_ONLY if read_only else Screen.CHAT
    if listed or has(tree, "bottom_nav") or (has(tree, "new_chat") and has(tree, "list")):
        return _home(tree, profile)
    return _interruption(tree, profile)


def package_of(tree: Tree) -> str:
    """The app whose window is on top."""
    return tree.package


def _home(tree: Tree, profile: Profile) -> Screen:
    if tree.has("alertTitle") or profile.find(tree, "positive_button"):
        return Screen.DIALOG
    nav = profile.find(tree, "bottom_nav")
    if nav is not None:
        return Screen.LIST if _first_tab(nav, profile) else Screen.TAB
    if (
        profile.has(tree, "new_chat")
        or profile.has(tree, "archive_header")
        or profile.has(tree, "search_bar")
    ):
        return Screen.LIST
    return Screen.ARCHIVED


def _first_tab(nav: Node, profile: Profile) -> bool:
    """Whether the chats are the chosen tab; a bar that says nothing about it is taken to mean so."""
    icons = profile.all(nav, "nav_item")
    items = [icon.parent for icon in icons if icon.parent is not None]
    for at, item in enumerate(items):
        if item.selected or profile.find(item, "nav_selected") is not None:
            return at == 0
    return True


def _interruption(tree: Tree, profile: Profile) -> Screen:
    said = " ".join(one_line(part) for node in tree.nodes for part in (node.text, node.desc) if part)
    for screen in (Screen.UPDATE_REQUIRED, Screen.PIN_PROMPT, Screen.APP_LOCK, Screen.BACKUP_OFFER):
        if profile.has(tree, screen.value) or profile.mentions(screen.value, said):
            return screen
    if any(tree.find(id) is not None for id in profile.ids("dialog")):
        return Screen.DIALOG
    if any(tree.find(id) is not None for id in profile.ids("sheet")):
        return Screen.SHEET
    return Screen.UNKNOWN


def header(tree: Tree, profile: Profile) -> Header | None:
    """The open chat's title, status line and number."""
    title = profile.find(tree, "chat_title")
    if title is None:
        return None
    name = one_line(title.text or title.desc)
    status = profile.find(tree, "chat_status")
    return Header(name, one_line(status.text) if status is not None else "", digits(name))


def composer(tree: Tree, profile: Profile) -> str | None:
    """What stands in the composer; the placeholder is nothing, and None means that there is no composer.

    With the `send` button there, the words are the owner's or ours even if they read like a placeholder.
    """
    entry = profile.find(tree, "composer")
    if entry is None:
        return None
    text = entry.text
    if profile.has(tree, "send"):
        return text
    if not text.strip() or (entry.hint and text == entry.hint) or profile.says("placeholder", one_line(text)):
        return ""
    # Without `send` there is nothing to send: an unknown language's placeholder, unless the microphone is
    # missing too.
    return "" if profile.has(tree, "microphone") else text


def right_to_left(tree: Tree, profile: Profile) -> bool:
    """Whether the screen is mirrored: the way back is on the right."""
    home = profile.find(tree, "home")
    return home is not None and home.center[0] > tree.size[0] // 2
