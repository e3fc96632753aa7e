"""Steps of a turn, and when the same model is asked again."""

import pytest

from core.errors import ModelUnavailable
from core.runs.budget import Budget, steps
from core.runs.retry import SEALED, Patience, pause
from core.settings import SuperAgent


@pytest.mark.parametrize(
    ("channel", "expected"),
    [("telegram", 1000), ("web", 1000), ("routine", 1000), ("cli", 40), ("group", 50), ("a2a", 20)],
)
def test_the_default_of_each_surface(channel: str, expected: int) -> None:
    assert steps(channel, SuperAgent()) == expected


def test_zero_is_the_default_and_a_number_replaces_it() -> None:
    assert steps("telegram", SuperAgent(telegram_max_iters=0)) == 1000
    assert steps("telegram", SuperAgent(telegram_max_iters=12)) == 12


def test_a_surface_without_a_key_has_the_common_default() -> None:
    assert steps("desktop", SuperAgent()) == 40


def test_a_turn_may_ask_for_less_but_not_for_more() -> None:
    assert steps("cli", SuperAgent(), 3) == 3
    assert steps("cli", SuperAgent(), 5000) == 40
    assert steps("cli", SuperAgent(), 0) == 1


def test_the_last_step_is_the_closing_one() -> None:
    budget = Budget(2)
    assert not budget.closing
    budget.spend()
    assert budget.closing
    budget.spend()
    assert budget.spent
    assert budget.left == 0


def failed(kind: str, retry_after_s: float | None = None) -> ModelUnavailable:
    return ModelUnavailable(kind, "no", retry_after_s=retry_after_s)


@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "server", "network"])
def test_passing_failures_are_tried_again_with_growing_pauses(kind: str) -> None:
    pauses = [pause(failed(kind), n, published=False, spent_s=0, patience=Patience()) for n in range(1, 7)]
    assert pauses == [0.5, 1, 2, 4, 8, None]


@pytest.mark.parametrize("kind", ["auth", "permission", "quota", "invalid", "not_found", "timeout"])
def test_what_would_fail_again_is_not_tried_again(kind: str) -> None:
    assert pause(failed(kind), 1, published=False, spent_s=0, patience=Patience()) is None


def test_nothing_is_asked_again_once_something_was_said() -> None:
    assert pause(failed("server"), 1, published=True, spent_s=0, patience=Patience()) is None


def test_the_provider_says_how_long_to_wait() -> None:
    assert pause(failed("rate_limit", 7), 1, published=False, spent_s=0, patience=Patience()) == 7


def test_a_wait_that_does_not_fit_is_not_begun() -> None:
    assert pause(failed("rate_limit", 7), 1, published=False, spent_s=56, patience=SEALED) is None
    assert pause(failed("rate_limit", 3600), 1, published=False, spent_s=0, patience=Patience()) is None


def test_a_sealed_turn_tries_once_more() -> None:
    assert pause(failed("server"), 1, published=False, spent_s=0, patience=SEALED) == 0.5
    assert pause(failed("server"), 2, published=False, spent_s=1, patience=SEALED) is None
