"""Text that somebody else wrote, made unable to look like the markup that separates one speaker from another."""

import re

_MARKUP = re.compile(
    r"<(\|[^|<>\n]{1,40}\|)>"  # <|im_start|>, <|eot_id|>, <|tool_calls_section_begin|>
    r"|<(｜[^｜<>\n]{1,60}｜)>"  # the same with full-width bars
    r"|<(/?s|/?bos|/?eos|start_of_turn|end_of_turn|/?tool_call|/?tool_response|/?think)>"
    r"|<(</?SYS>)>"
    r"|\[(/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|MEMORIA RELEVANTE))\]",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"(^|[›\]>])([ \t>*#_-]*)(system|assistant|user|human|developer|tool|ai)([ \t*_]*):",
    re.IGNORECASE | re.MULTILINE,
)


def neutral(text: str) -> str:
    """The same text, unable to end its own turn: chat-template tokens keep their words and lose their brackets."""
    return _MARKUP.sub(lambda found: "‹" + next(filter(None, found.groups())) + "›", text)


def one_line(text: str, limit: int) -> str:
    """What may stand as one line among others: neutral, without the label of a speaker, and no longer than `limit`."""
    quiet = neutral(text)
    while (quieter := _SPEAKER.sub(r"\1\2‹\3›\4", quiet)) != quiet:
        quiet = quieter  # what is taken away may have hidden the next one
    line = " ".join("".join(c if c.isprintable() else " " for c in quiet).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
