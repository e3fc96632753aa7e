"""What agents are told about work that was handed over. Only models read this."""

import re
from collections.abc import Sequence

from core.neutral import neutral
from core.runs.jobs import Job, State
from core.store import Store

_JOB = re.compile(r"job_\w+")
MAX_ASKED = 1200
MAX_ANSWER = 6000

SELF = "That is you. Do it yourself, or use run_subagent for a piece of it that stands alone."
BUG = "It broke off because of an error inside the app; the log says which."
STOPPED = "It was stopped."
LOST = "The app ended while it was running. What had been begun may be done, and nothing of it is known."
NOBODY_WAITS = (
    " (You are in a room or answering another agent: nobody waits from there, so it runs in the background.)"
)
WAITED = "(Asked from a command, which ends with its answer: it was waited for.)\n"

_WHY = {
    State.FAILED: "it failed",
    State.TIMED_OUT: "it took longer than it may",
    State.LOST: "the app was ended while it ran",
    State.CANCELLED: "it was stopped",
}


def too_deep(limit: int) -> str:
    """The hand-over would be one too many."""
    return (
        f"Not handed over: this work has been handed on {limit} times already, and that is the limit. Do it yourself "
        "with your own tools, or say in your answer what is missing and who could do it."
    )


def too_many(open_jobs: Sequence[Job]) -> str:
    """The asker has enough going on."""
    lines = "\n".join(f"- {one.id} to {one.recipient}, {_minutes(one)}: {one.body[:80]}" for one in open_jobs)
    return (
        f"Not handed over: {len(open_jobs)} jobs of yours are running, and that is the limit. You are woken as each "
        f"ends; hand this over then, or do it yourself. Running:\n{lines}"
    )


def running(job: Job) -> str:
    """It runs now, and the asker goes on."""
    after = (
        "You are woken with the answer when it ends; do not ask for it and do not wait."
        if job.wake
        else "You will not be told when it ends; check_jobs shows it."
    )
    return f"Running as {job.id} with {job.recipient}. {after} It is not done: do not report it as done."


async def going_on(store: Store, job: Job) -> str:
    """Asked twice: what is already being done, since when, and how far it is."""
    step = await store.one(
        "select json_extract(body, '$.tool') as tool from run_steps where run_id = ? and kind = 'tool'"
        " order by id desc limit 1",
        job.run_id,
    )
    last = f" Its last step: {step['tool']}." if step else ""
    return (
        f"{job.recipient} is already at work for you as {job.id}, {_minutes(job)}: {job.body[:300]}\n{last} Nothing "
        "new was started. Wait until you are woken; only to correct that work on purpose, send again with followup."
    ).replace("\n ", "\n")


def outcome(result: str) -> tuple[str, str]:
    """What the result of a hand-over says, and the job's id: background, already, refused, no_result or waited."""
    found = _JOB.search(result)
    id = found[0] if found else ""
    if result.startswith("Running as "):
        return "background", id
    if " is already at work for you as " in result[:120]:
        return "already", id
    if result.startswith("There is NO result of "):
        return "no_result", id
    if result == SELF or result.startswith("Not handed over: "):
        return "refused", ""
    return "waited", ""


def over(life_s: float) -> str:
    """Its time is over."""
    return f"It was ended after {life_s:g} s, the most that a job may take. What had been begun may be done."


def no_result(job: Job) -> str:
    """Bluntly: there is nothing to report."""
    return (
        f"There is NO result of {job.id} from {job.recipient}: {_WHY.get(job.status, 'it did not end')}. {job.result}\n"
        "Do not report it as done. What it had begun may be done: look before repeating anything."
    )


def woken(job: Job) -> str:
    """The message that an asker is woken with: all that it needs, since it remembers nothing else of it."""
    came = (
        f"{job.recipient} answered what you handed over ({job.id})."
        if job.status is State.DONE
        else no_result(job)
    )
    goes = (
        "It is sent to the owner, once, in the chat where they asked: write it for them."
        if job.origin
        else "Nobody reads it."
    )
    answer = f"\n\n# The answer\n{neutral(_cut(job.result, MAX_ANSWER))}" if job.status is State.DONE else ""
    return (
        f"{came}\n\n# What you had asked\n{neutral(_cut(job.body, MAX_ASKED))}{answer}\n\n# Now\nAct on it if there is "
        f"something to do. What you write is a note of your own. {goes} {job.recipient} does not read it and waits "
        "for nothing, so do not thank, acknowledge or send it anything back."
    )


def _minutes(job: Job) -> str:
    return f"for {job.running_s // 60} min" if job.running_s >= 60 else f"for {job.running_s} s"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
