"""The tools that every home has, as a part of the app: the owner's own, the files, the shell, the web.

Where a turn pays for each tool it is told of, it gets the ones that are used most; the others are one
`discover_tools` away.
"""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from core.runs.steering import ask_questions
from core.tools import files, git, inventory, owner, runtimes, search, shell, web, web_search

if TYPE_CHECKING:
    from core.app import App

CORE = (
    *owner.TOOLS,
    ask_questions,
    shell.run_shell,
    files.list_files,
    files.read_file,
    files.write_file,
    *web.TOOLS,
)
FULL = (
    files.edit_file,
    *search.TOOLS,
    *web_search.TOOLS,
    *inventory.TOOLS,
    *git.TOOLS,
    *runtimes.TOOLS,
)


@asynccontextmanager
async def computer(app: "App") -> AsyncIterator[None]:
    """The part: offered while the block lasts."""
    with ExitStack() as stack:
        stack.callback(app.tools.add(*CORE))
        stack.callback(app.tools.add(*FULL, full_only=True))
        yield
