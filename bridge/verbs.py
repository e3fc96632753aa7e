"""The commands of the phone and its rounds, imported when they are called."""

from core.cli.group import LazyGroup
from core.cli.words import say

VERBS = {
    "phone": "bridge.phone_verbs:phone",
    "round": "bridge.round_verbs:round",
    "whatsapp": "bridge.contact_verbs:whatsapp",
    "demo": "bridge.demo_verb:demo",
}


def add(group: LazyGroup) -> None:
    """Join the command line."""
    for name, target in VERBS.items():
        group.lazy(name, target, say(f"{name}.about"))
