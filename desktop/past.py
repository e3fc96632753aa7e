"""A conversation as it was kept: its lines with the tools, files, cards and hand-overs of their runs."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.paths import Home
from desktop.handed import TOOLS
from desktop.messages import Asking, Entry, File, Handed, Kind

if TYPE_CHECKING:
    from core.store import Store

_KINDS = {"user": Kind.OWNER, "assistant": Kind.AGENT, "note": Kind.NOTE}
ASKS = "ask_questions"


async def history(
    store: "Store", home: Home, thread: str, called: Callable[[str], str] = lambda name: name
) -> list[Entry]:
    """The whole conversation of a thread. `called` gives the name of an agent that work was handed to."""
    rows = await store.all(
        "select role, text, run_id, at, meta from messages where thread = ? order by id", thread
    )
    tools = await _tools(store, thread, called)
    files = await _files(store, home, thread)
    entries: list[Entry] = []
    asked = Entry(Kind.OWNER)
    waiting: Asking | None = None
    for row in rows:
        kind, meta = _KINDS[row["role"]], json.loads(row["meta"])
        run_id = row["run_id"] or ""
        if kind is Kind.OWNER:
            asked = Entry(kind, row["text"], row["at"], run_id, files=_came(meta))
            if waiting is not None:
                waiting.answer, waiting = row["text"], None
            entries.append(asked)
            continue
        entries += tools.pop(run_id, [])
        entry = Entry(kind, row["text"], row["at"], run_id)
        if kind is Kind.NOTE and meta.get("status") == "failed":
            entry.kind, entry.result, entry.action, entry.files = Kind.ERROR, asked.text, "again", asked.files
        if questions := meta.get("questions"):
            waiting = asking(questions)
            entry.kind, entry.asking = Kind.QUESTIONS, waiting
            if said := before(entry.text, waiting):
                entries.append(Entry(Kind.AGENT, said, row["at"], run_id))
        entries.append(entry)
        entries += files.pop(run_id, [])
    return entries


def asking(questions: Any) -> Asking:
    """A card of the questions that an answer carries."""
    from core.runs.turn import Asked

    return Asking(
        tuple(
            Asked(str(one["question"]), tuple(one.get("options") or ()), bool(one.get("multiple")))
            for one in questions
        )
    )


def before(text: str, card: Asking) -> str:
    """What was said before the questions, which the text of the answer repeats."""
    from core.runs.steering import as_text

    tail = as_text(card.questions)
    return text[: -len(tail)].rstrip() if text.endswith(tail) else ""


def handed(tool: str, args: Mapping[str, Any], called: Callable[[str], str]) -> Handed | None:
    """Whom a tool call hands work to, if that is what it does."""
    if tool not in TOOLS:
        return None
    return Handed(called(str(args.get("to") or args.get("agent") or "").partition(":")[0].strip()))


def outcome(entry: Entry) -> None:
    """Read from the result of a hand-over how it stands."""
    from core.runs.wording import outcome as read

    if entry.handed is not None and entry.ok:
        entry.handed.state, entry.handed.job_id = read(entry.result)


async def _tools(store: "Store", thread: str, called: Callable[[str], str]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    rows = await store.all(
        "select s.run_id, s.at, s.body from run_steps s join runs r on r.id = s.run_id"
        " where s.kind = 'tool' and r.thread = ? order by s.id",
        thread,
    )
    for row in rows:
        entry = _tool(row["body"], row["at"], row["run_id"], called)
        if entry.text != ASKS or not entry.ok:  # its card is there
            found.setdefault(row["run_id"], []).append(entry)
    background = {
        one.handed.job_id: one
        for entries in found.values()
        for one in entries
        if one.handed is not None and one.handed.job_id
    }
    if background:
        ended = await store.all(
            "select id, status, result from jobs where status != 'running'"
            " and id in (select value from json_each(?))",
            json.dumps(list(background)),
        )
        for row in ended:
            close(background[row["id"]], row["status"], row["result"])
    return found


def close(entry: Entry, status: str, result: str) -> None:
    """Work in the background has ended: the line says how, and holds what came of it."""
    if entry.handed is not None:
        entry.handed.ended = status
        entry.result = result or entry.result


def _tool(body: str, at: str, run_id: str, called: Callable[[str], str]) -> Entry:
    told = json.loads(body)
    name, args = str(told.get("tool", "")), told.get("args") or {}
    entry = Entry(
        Kind.TOOL,
        name,
        at,
        run_id,
        call_id=str(told.get("id", "")),
        args=args,
        result=str(told.get("result", "")),
        ok=bool(told.get("ok", True)),
        seconds=float(told.get("seconds") or 0.0),
    )
    if (given := handed(name, args, called)) is not None:
        entry.kind, entry.handed = Kind.HANDOVER, given
        outcome(entry)
    return entry


async def _files(store: "Store", home: Home, thread: str) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    rows = await store.all(
        "select m.* from media m join runs r on r.id = m.run_id"
        " where m.direction = 'out' and r.thread = ? order by m.id",
        thread,
    )
    for row in rows:
        file = File(row["name"], row["kind"], row["size"], home.root / row["path"])
        entry = Entry(Kind.FILE, row["name"], row["created_at"], row["run_id"], file=file)
        found.setdefault(row["run_id"], []).append(entry)
    return found


def _came(meta: Mapping[str, Any]) -> tuple[File, ...]:
    """The pictures that went with the owner's words."""
    return tuple(
        File(
            one["name"],
            one["kind"],
            int(one.get("size") or 0),
            Path(one["path"]),
            media_id=one["media_id"],
            mime=one.get("mime", ""),
        )
        for one in meta.get("files") or ()
        if "path" in one
    )
