"""What the owner hears of work that outlived their conversation: once, where they were when they asked for it.

A woken assistant writes a note that nobody waits for. Where its work began in a chat of the owner's, that chat gets
the note, or the plain sentence that there is no result.
"""

from core.message import Message
from core.outbox import Outbox
from core.runs.jobs import Job, State
from core.runs.turn import Run, Status
from core.store import Store, now
from core.texts import t

SENDS = "send_telegram"
_SAID = frozenset({Status.DONE, Status.BUDGET_EXCEEDED})


async def tell(store: Store, outbox: Outbox, job: Job, run: Run, *, author: str, lang: str) -> None:
    """Pass the note of a woken assistant on. What it sent by itself is not said again."""
    where = job.origin
    if not where or any(call.tool == SENDS and call.ok for call in run.calls):
        return
    text = run.text.strip() if run.status in _SAID else ""
    if not text:
        done = job.status is State.DONE
        key = "jobs.answered" if done else f"jobs.{job.status}"
        text = t(key, lang, who=job.recipient, what=job.body[:200], answer=job.result[:1500])
    key = f"job:{job.id}:told"
    if await outbox.find(key) is not None:
        return
    await outbox.post(
        Message(
            channel=where["channel"],
            to=where["to"],
            text=text,
            markup=True,
            key=key,
            origin={"run_id": run.id},
        )
    )
    # The conversation goes on knowing what was said in it.
    await store.run(
        "insert into messages (thread, channel, author, role, text, run_id, at)"
        " values (?, ?, ?, 'assistant', ?, ?, ?)",
        *(where["thread"], where["thread"].partition(":")[0], author, text, run.id, now()),
    )
