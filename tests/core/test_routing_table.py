"""The table of failures, row by row: what is asked again, what goes on to the next model, and what ends there."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.errors import ModelUnavailable
from core.runs.failures import classify, seconds
from core.runs.quota import OPEN_S, OPENS_AFTER, Circuits
from core.runs.retry import SEALED, Patience
from core.runs.routing import LLM_ROUTING, MODEL_FALLBACK, TABLE, Action, Situation, Verdict, decide
from core.texts import languages

PASSING = ["rate_limit", "concurrency", "overloaded", "server", "network"]
FINAL = ["auth", "permission", "invalid", "not_found", "something_new"]


def error(kind: str, retry_after_s: float | None = None) -> ModelUnavailable:
    return ModelUnavailable(kind, "no", retry_after_s=retry_after_s)


def then(kind: str, **at: object) -> tuple[str, str]:
    verdict = decide(error(kind), Situation(**at))  # type: ignore[arg-type]
    return verdict.action, verdict.why


@pytest.mark.parametrize(
    ("kind", "retries"),
    [("rate_limit", 5), ("concurrency", 8), ("overloaded", 5), ("server", 5), ("network", 5)]
    + [(kind, 0) for kind in ["timeout", "empty", "quota", *FINAL]],
)
def test_how_often_the_same_model_is_asked_again(kind: str, retries: int) -> None:
    asked = [then(kind, tried=tried)[0] for tried in range(1, 12)]
    assert asked == ["retry"] * retries + ["stop"] * (11 - retries)
    assert TABLE.get(kind) is None or TABLE[kind].retries == retries


@pytest.mark.parametrize("kind", [*PASSING, "timeout", "empty"])
@pytest.mark.parametrize("via", [LLM_ROUTING, MODEL_FALLBACK])
@pytest.mark.parametrize("attended", [True, False])
def test_what_passes_goes_on_to_the_next_granted_model_after_its_retries(
    kind: str, via: str, attended: bool
) -> None:
    assert then(kind, tried=9, next_via=via, attended=attended) == ("advance", "advance")


@pytest.mark.parametrize("kind", FINAL)
@pytest.mark.parametrize("tried", [1, 9])
def test_what_another_model_would_not_mend_never_goes_on(kind: str, tried: int) -> None:
    assert then(kind, tried=tried, next_via=MODEL_FALLBACK, chosen=True) == ("stop", "never")


@pytest.mark.parametrize(
    ("attended", "chosen", "via", "expected"),
    [
        (True, False, MODEL_FALLBACK, ("advance", "advance")),
        (True, False, LLM_ROUTING, ("stop", "quota")),
        (True, True, "", ("stop", "quota")),
        (False, False, MODEL_FALLBACK, ("stop", "quota_unattended")),
        (False, True, MODEL_FALLBACK, ("advance", "advance")),
        (False, True, LLM_ROUTING, ("stop", "quota_unattended")),
        (False, False, "", ("stop", "quota_unattended")),
    ],
)
def test_an_account_at_its_limit(attended: bool, chosen: bool, via: str, expected: tuple[str, str]) -> None:
    assert then("quota", attended=attended, chosen=chosen, next_via=via) == expected


@pytest.mark.parametrize("kind", [*TABLE, "something_new"])
@pytest.mark.parametrize("boundary", ["published", "started", "cancelled"])
def test_what_was_said_begun_or_stopped_is_not_repeated_by_anybody(kind: str, boundary: str) -> None:
    assert then(kind, next_via=MODEL_FALLBACK, **{boundary: True}) == ("stop", boundary)


@pytest.mark.parametrize("why", ["no_grant", "no_more", "narrowed", "local"])
def test_without_a_next_model_the_reason_is_told_apart(why: str) -> None:
    assert then("server", tried=9, why_none=why) == ("stop", why)


def test_one_budget_for_the_whole_turn() -> None:
    assert then("server", retries_left=1) == ("retry", "again")
    assert then("server", retries_left=0, next_via=LLM_ROUTING) == ("stop", "budget")


def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    waits = decide(error("rate_limit", 3600), Situation(next_via=LLM_ROUTING))
    assert waits == Verdict(Action.ADVANCE, "advance")
    assert decide(error("rate_limit", 3600), Situation()).action is Action.STOP


def test_time_that_is_used_up_ends_it() -> None:
    assert then("timeout", spent_s=180, next_via=LLM_ROUTING) == ("stop", "time")


def test_an_open_circuit_forbids_retries_of_the_network_only() -> None:
    assert then("network", broken=True, next_via=LLM_ROUTING) == ("advance", "advance")
    assert then("server", broken=True) == ("retry", "again")


def test_three_failures_of_the_network_in_a_row_open_the_circuit_of_their_provider_for_half_a_minute() -> (
    None
):
    clock = [0.0]
    circuits = Circuits(lambda: clock[0])
    for _ in range(OPENS_AFTER - 1):
        circuits.failed("dead", "network")
    assert not circuits.is_open("dead")
    circuits.failed("dead", "network")
    assert circuits.is_open("dead")
    assert not circuits.is_open("other")
    assert circuits.opened() == {"dead": OPEN_S}
    clock[0] = OPEN_S
    assert not circuits.is_open("dead")
    circuits.failed("dead", "network")  # it begins to count anew
    assert not circuits.is_open("dead")


@pytest.mark.parametrize("between", ["an answer", "server", "rate_limit", "overloaded"])
def test_whatever_lies_between_failures_of_the_network_ends_their_row(between: str) -> None:
    circuits = Circuits(lambda: 0.0)
    for _ in range(4):
        for _ in range(OPENS_AFTER - 1):
            circuits.failed("shaky", "network")
        if between == "an answer":
            circuits.answered("shaky")
        else:
            circuits.failed("shaky", between)
    assert not circuits.is_open("shaky")


def test_pauses_grow_and_a_hint_only_lengthens_them() -> None:
    def waits(kind: str, hint: float | None, tries: int) -> list[float | None]:
        return [decide(error(kind, hint), Situation(tried=n)).wait_s for n in range(1, tries + 1)]

    assert waits("server", None, 5) == [0.5, 1, 2, 4, 8]
    assert waits("rate_limit", 3, 5) == [3, 3, 3, 4, 8]
    assert waits("concurrency", 1, 8) == [2, 4, 8, 16, 30, 30, 30, 30]
    assert decide(error("server"), Situation(tried=2, patience=SEALED)).action is Action.STOP
    assert decide(error("server"), Situation(patience=Patience(retries=0))).action is Action.STOP


def test_every_reason_has_a_sentence_in_every_language() -> None:
    codes = {"again", "advance", "never", "cancelled", "published", "started", "quota", "quota_unattended"}
    codes |= {"budget", "time", "no_grant", "no_more", "narrowed", "local", "missing"}
    for lang in languages():
        for code in codes:
            said = Verdict(Action.STOP, code).sentence(lang, target="a:b", next="c:d", reason="Why.")
            assert said.strip()
            assert "{" not in said


def test_the_catalogues_have_the_same_keys() -> None:
    root = Path(__file__).parents[2] / "assets" / "locale"
    for area in ("routing", "cli_routing"):
        one, two = (json.loads((root / f"{area}.{lang}.json").read_text()) for lang in languages())
        assert one.keys() == two.keys()


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (429, "concurrency_limit_exceeded", "concurrency"),
        (429, "Quota exceeded for metric GenerateRequestsPerMinutePerProject", "rate_limit"),
        (429, "Quota exceeded: GenerateRequestsPerDayPerProject", "quota"),
        (429, "usage limit reached, try again in 97 min", "quota"),
        (402, "Insufficient balance.", "quota"),
        (400, "failed to parse grammar", "server"),
        (400, "Provider returned error", "server"),
        (400, "Rate limit exceeded", "rate_limit"),
        (400, "Unknown parameter", "invalid"),
        (501, "Not implemented", "invalid"),
        (529, "Overloaded", "overloaded"),
        (524, "A timeout occurred", "server"),
        (403, "The subscription newsletter is forbidden reading", "permission"),
        (400, "Unknown field: billing_address", "invalid"),
        (400, "credits.title is not a field; see the billing page of the docs", "invalid"),
        (403, "You may not read the billing settings", "permission"),
        (429, "Slow down. See https://x.org/billing", "rate_limit"),
        (429, "billing_hard_limit_reached", "quota"),
        (403, "This API method requires billing to be enabled", "quota"),
        (429, "Resource has been exhausted (e.g. check quota).", "rate_limit"),
        (429, "{'message': 'Quota exceeded for this model', 'code': 'rate_limit_exceeded'}", "rate_limit"),
        (429, "{'message': 'Quota exceeded', 'code': 429, 'status': 'RESOURCE_EXHAUSTED'}", "quota"),
        *((status, "", "server") for status in (500, 502, 504, 520, 521, 522, 523, 524)),
        (503, "", "overloaded"),
        (408, "", "timeout"),
        (401, "", "auth"),
        (402, "", "quota"),
        (403, "", "permission"),
        (404, "", "not_found"),
        (422, "", "invalid"),
    ],
)
def test_classes_of_failure(status: int, text: str, kind: str) -> None:
    assert classify(status, text) == kind


@pytest.mark.parametrize(
    ("text", "wait", "kind"),
    [
        ("You exceeded your current quota", 34, "rate_limit"),
        ("You exceeded your current quota", 0, "rate_limit"),
        ("You exceeded your current quota", None, "quota"),
        ("usage limit reached, try again in 97 min", 5820, "quota"),
        ("{'message': 'You exceeded your current quota', 'code': 'insufficient_quota'}", 20, "quota"),
        ("Your credit balance is too low", 1, "quota"),
    ],
)
def test_a_quota_that_is_over_in_a_moment_is_a_rate_limit(text: str, wait: float | None, kind: str) -> None:
    assert classify(429, text, retry_after_s=wait) == kind


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("12", 12), ("0", 0), (".5", 0.5), ("3.", 3), (" 7 ", 7),
        ("12abc", None), ("-5", None), ("1e3", None), ("0x10", None), ("", None), (None, None), ("nan", None),
        ("Mon, 05 Jan 2026 10:00:30 GMT", 30), ("Mon, 05 Jan 2026 09:00:00 GMT", None),
    ],
)  # fmt: skip
def test_what_retry_after_may_say(header: str | None, wait: float | None) -> None:
    assert seconds(header, at=datetime(2026, 1, 5, 10, tzinfo=UTC)) == wait
