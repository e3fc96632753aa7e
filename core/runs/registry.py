"""The tools there are, and which of them a channel offers."""

from collections.abc import Callable

from core.tool import Tool

# Channels where a person chose the model and waits for long work; the others get the core set, cheaper to send.
FULL = frozenset({"api", "cli", "web", "code", "web_code", "routine", "a2a", "group"})

# Nobody on these channels may reach a tool of the owner's: their turns bring their own.
NONE = frozenset({"whatsapp"})


class Tools:
    """Tools by name. Parts add theirs when they start and take them back when they leave."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._full_only: set[str] = set()

    def add(self, *tools: Tool, full_only: bool = False) -> Callable[[], None]:
        """Offer tools; call what is returned to take them back. A name that is taken is a bug."""
        names = [tool.name for tool in tools]
        taken = self._tools.keys() & set(names)
        if taken or len(set(names)) < len(names):
            raise ValueError(f"Tool names must differ: {', '.join(sorted(taken) or names)}")
        self._tools |= {tool.name: tool for tool in tools}
        if full_only:
            self._full_only |= set(names)

        def take_back() -> None:
            for name in names:
                self._tools.pop(name, None)
            self._full_only.difference_update(names)

        return take_back

    def of(self, channel: str) -> tuple[Tool, ...]:
        """What a turn of the owner on this channel is offered, in the order of joining."""
        if channel in NONE:
            return ()
        return tuple(t for t in self._tools.values() if channel in FULL or t.name not in self._full_only)

    def more(self, channel: str) -> tuple[Tool, ...]:
        """What a turn on this channel is not given at first and may take with `discover_tools`."""
        if channel in NONE or channel in FULL:
            return ()
        return tuple(t for t in self._tools.values() if t.name in self._full_only)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._tools))
