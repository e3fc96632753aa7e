"""The owner's rules for single contacts: found, set and taken away. A number is surer than a name."""

from collections.abc import Sequence

from bridge.screen import same_text
from core.errors import Invalid, NotFound
from core.settings import Contact


def digits(number: str) -> str:
    """A number without what people write around it."""
    return "".join(char for char in number if char.isdecimal())


def found(contacts: Sequence[Contact], name: str, number: str) -> int | None:
    """Where the rule for this contact stands: by number, else by name where not both have a number."""
    wanted = digits(number)
    for at, one in enumerate(contacts):
        if wanted and digits(one.number) == wanted:
            return at
    for at, one in enumerate(contacts):
        if name and one.name and same_text(one.name, name) and not (wanted and digits(one.number)):
            return at
    return None


def put(contacts: Sequence[Contact], contact: Contact) -> tuple[list[Contact], bool]:
    """The rules with this one in its place or at the end; whether it is new."""
    if not contact.name.strip() and not digits(contact.number):
        raise Invalid("A contact has a name or a number.", fields=("name",))
    if contact.number and len(digits(contact.number)) < 7:
        raise Invalid("That is not a whole phone number; write it with its country.", fields=("number",))
    kept = list(contacts)
    at = found(kept, contact.name, contact.number)
    if at is None:
        return [*kept, contact], True
    before = kept[at]
    kept[at] = contact.model_copy(
        update={"name": contact.name or before.name, "number": contact.number or before.number}
    )
    return kept, False


def without(contacts: Sequence[Contact], name: str, number: str) -> tuple[list[Contact], Contact]:
    """The rules without the one for this contact, and that one."""
    at = found(contacts, name, number)
    if at is None:
        raise NotFound(f"There is no rule for {(name or number)[:80] or 'nobody'}.")
    return [*contacts[:at], *contacts[at + 1 :]], contacts[at]
