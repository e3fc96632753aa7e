"""One question beside a run: the judge's, the summary's. Exactly one model, one request, no recovery.

It is paid and counted like any other; whoever asks says what happens when it fails.
"""

from typing import Any

from core.errors import ModelUnavailable
from core.runs.attempts import Desk
from core.runs.request import Reply, Request
from core.runs.turn import Run

TIMEOUT_S = 60.0


async def ask(
    desk: Desk,
    run: Run,
    messages: list[dict[str, Any]],
    *,
    purpose: str,
    role: str = "",
    primary: str = "",
    max_tokens: int,
    lang: str,
    unattended: bool = False,
) -> tuple[Reply, str]:
    """The answer and who gave it; an `ApxError` of any kind when there is none. `role` is an exact pin."""
    target = desk.router.auxiliary(primary or run.target, lang, role=role)
    if cooling := (await desk.quota.cooling()).get(str(target)):
        raise ModelUnavailable("quota", cooling.why)
    request = Request(
        target=str(target),
        messages=messages,
        max_tokens=max_tokens,
        temperature=0.0,
        timeout_s=TIMEOUT_S,
        purpose=purpose,
        lang=lang,
    )
    free = desk.router.is_free(str(target))
    async with desk.spending.allowed(run, request, target, free=free, unattended=unattended, lang=lang):
        try:
            reply = await desk.models.complete(request)
        except ModelUnavailable as error:
            desk.circuits.failed(target.provider, error.kind)
            raise
        run.tokens_in += reply.tokens_in
        run.tokens_out += reply.tokens_out
        await desk.spending.cost(run, target, request, reply, free=free)
    desk.circuits.answered(target.provider)
    return reply, str(target)
