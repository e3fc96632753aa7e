"""A turn as a peer answers it: who it is, what it may use, what was said between the two before."""

from dataclasses import replace

from core import projects
from core.identity import IdentityFile
from core.runs import history, peers
from core.runs.peers import Peer
from core.runs.registry import Tools
from core.runs.turn import Turn
from core.store import Store
from core.tool import Tool

HISTORY = 48  # 24 turns: a question and its answer each
# Nobody looks at a conversation between agents: no question and no file can be shown in it.
NOT_HERE = frozenset({"ask_questions", "send_file"})
# The owner, their settings and what is remembered of them are reached by the assistant alone.
ASSISTANT_ONLY = frozenset({"send_telegram", "set_identity", "remember", "forget", "add_project"})


async def turn_of(store: Store, identity: IdentityFile, tools: Tools, peer: Peer, turn: Turn) -> Turn:
    """The turn, answered by this peer."""
    turn = replace(
        turn,
        answerer=peer.address,
        previous=tuple(await history.between(store, turn.thread, peer.address, limit=HISTORY)),
        tools=tuple(tool for tool in tools.of("a2a") if may(peer, tool)),
        # Permission for the assistant's own calls is asked where the owner is.
        can_ask=peer.agent is None,
    )
    if peer.agent is None:
        return turn
    project = await projects.find(store, peer.project_id)
    return replace(
        turn,
        role=peers.role(peer.agent, identity.now, project=project.name, language=identity.language),
        model=peer.agent.model or turn.model,
    )


def may(peer: Peer, tool: Tool) -> bool:
    """Whether a peer has this tool in a conversation between agents."""
    return tool.name not in NOT_HERE and (peer.agent is None or tool.name not in ASSISTANT_ONLY)
