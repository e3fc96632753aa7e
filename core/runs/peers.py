"""Who is meant by a name between agents. Many names, one address: a pair has one thread, whichever was used."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core import agents
from core.agents import Agent
from core.errors import Invalid, NotFound
from core.identity import Identity
from core.paths import PACKAGE
from core.projects import DEFAULT
from core.runs.prompt import LANGUAGES
from core.store import Store

SUPER = "super_agent"
ALIASES = frozenset({"default", "superagent", "super_agent", "super-agent", "apx"})
_ROLE: Path = PACKAGE / "prompts" / "agent.md"


@dataclass(frozen=True, slots=True)
class Peer:
    """One address. Without an `agent` it is the assistant, or (not `known`) a name that nobody here bears."""

    address: str
    project_id: str
    agent: Agent | None = None
    known: bool = True


def split(named: str) -> tuple[str, str]:
    """`name:thread` asks for a history of its own."""
    name, _, thread = named.strip().partition(":")
    return name.strip(), thread.strip()[:80]


def is_assistant(name: str, identity: Identity) -> bool:
    """Whether a name is one of the assistant's: a fixed alias, or what the identity is called."""
    plain = _plain(name)
    return plain in ALIASES or plain == _plain(identity.agent_name)


async def resolve(store: Store, identity: Identity, named: str, project_id: str) -> Peer:
    """The one that is meant from inside a project: its own agents first, then the assistant, then other projects."""
    name, _ = split(named)
    everybody = await agents.listed(store)
    if found := _called(name, [one for one in everybody if one.project_id == project_id]):
        return Peer(found.slug, found.project_id, found)
    if is_assistant(name, identity):
        return Peer(SUPER, project_id)
    elsewhere = [one for one in everybody if one.project_id != project_id]
    if found := _called(name, elsewhere):
        return Peer(found.slug, found.project_id, found)
    there = ", ".join(sorted({one.slug for one in everybody})) or "none"
    raise NotFound(
        f"There is nobody called {name[:60]!r} to write to. Agents: {there}; and the assistant: apx."
    )


async def sender(store: Store, identity: Identity, named: str, project_id: str | None) -> Peer:
    """Who writes, found by the name alone where only one project has it. Unknown names stay as they are."""
    name, _ = split(named)
    if not name:
        raise Invalid("Say who writes.", fields=("from",))
    everybody = await agents.listed(store, project_id)
    # A name that is the assistant's as well: an agent that is really called so wins.
    found = _called(name, everybody, "Say in which with --project.")
    if found:
        return Peer(found.slug, found.project_id, found)
    where = project_id or DEFAULT
    if is_assistant(name, identity):
        return Peer(SUPER, where)
    return Peer(name[:60], where, known=False)


async def known(store: Store, address: str, project_id: str) -> Peer | None:
    """The peer of a kept address, if it is still there."""
    if address == SUPER:
        return Peer(SUPER, project_id)
    try:
        agent = await agents.find(store, project_id, address)
    except NotFound:
        return None
    return Peer(agent.slug, project_id, agent)


def thread(project_id: str, one: str, other: str, name: str = "") -> str:
    """The thread of a pair, whoever of them writes."""
    pair = "+".join(sorted((one, other)))
    return f"a2a:{project_id}:{pair}" + (f":{name}" if name else "")


def role(agent: Agent, identity: Identity, *, project: str, language: str) -> str:
    """What a project's agent is told it is."""
    code = language.replace("_", "-").split("-")[0]
    return (
        _ROLE.read_text(encoding="utf-8")
        .strip()
        .format(
            name=agent.name,
            slug=agent.slug,
            project=project,
            owner=identity.owner_name or "the owner",
            instructions=agent.instructions or "Whatever you are asked.",
            language=LANGUAGES.get(code, language),
        )
    )


def _called(name: str, among: Sequence[Agent], hint: str = "Name its project.") -> Agent | None:
    """The agent of that slug, else of that name; two that fit equally well are an error."""
    plain = _plain(name)
    for fits in (
        [one for one in among if one.slug == name],
        [one for one in among if one.slug == plain],
        [one for one in among if _plain(one.name) == plain],
    ):
        if len(fits) > 1:
            where = ", ".join(sorted(one.project_id for one in fits))
            raise Invalid(
                f"Several agents are called {name[:60]!r} (projects {where}). {hint}", fields=("project",)
            )
        if fits:
            return fits[0]
    return None


def _plain(name: str) -> str:
    """A name without case and accents."""
    apart = unicodedata.normalize("NFKD", name.casefold())
    return " ".join("".join(one for one in apart if not unicodedata.combining(one)).split())
