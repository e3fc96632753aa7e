"""WhatsApp on the owner's phone: what its screens say, and the few things that are done on them."""

from bridge.whatsapp.app import WhatsApp
from bridge.whatsapp.profile import Profile, load_profile
from bridge.whatsapp.rows import Row
from bridge.whatsapp.screens import Screen
from bridge.whatsapp.values import Chat, Message, Reading, RowGone, Sent, WrongChat

__all__ = [
    "Chat",
    "Message",
    "Profile",
    "Reading",
    "Row",
    "RowGone",
    "Screen",
    "Sent",
    "WhatsApp",
    "WrongChat",
    "load_profile",
]
