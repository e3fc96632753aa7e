"""Names of models, what a refusal means, and that no credential comes out with it: the pure part of the models."""

import pytest

from core.errors import Invalid
from core.runs.failures import classify, detail, redact, seconds
from core.runs.llm_worker import bases
from core.runs.targets import Target, key_variable, parse


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("openai:gpt-5", Target("openai", "gpt-5")),
        ("openrouter:meta/llama-3:free", Target("openrouter", "meta/llama-3:free")),
        ("custom:mine:llama", Target("custom:mine", "llama")),
        ("gpt-5", Target("openai", "gpt-5")),
        ("claude-sonnet-4-5", Target("anthropic", "claude-sonnet-4-5")),
        ("gemini-2.5-pro", Target("gemini", "gemini-2.5-pro")),
        (" ollama:qwen3:8b ", Target("ollama", "qwen3:8b")),
    ],
)
def test_how_a_model_is_called(text: str, target: Target) -> None:
    assert parse(text) == target


@pytest.mark.parametrize("text", ["", "nonsense", ":x", "x:", "a b:c"])
def test_what_names_no_model(text: str) -> None:
    with pytest.raises(Invalid):
        parse(text)


def test_where_a_key_may_be_in_the_environment() -> None:
    assert (key_variable("openai"), key_variable("custom:my-box")) == (
        "OPENAI_API_KEY",
        "CUSTOM_MY_BOX_API_KEY",
    )
    assert Target("ollama", "x").engine == "ollama_chat"


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (400, "Your credit balance is too low", "quota"),
        (400, "API key not valid: invalid api key", "auth"),
        (402, "Payment required", "quota"),
        (403, "Key limit exceeded: billing", "quota"),
        (403, "forbidden", "permission"),
        (408, "", "timeout"),
        (413, "", "invalid"),
        (422, "", "invalid"),
        (429, "Too many requests", "rate_limit"),
        (429, "usage limit reached", "quota"),
        (502, "bad gateway", "server"),
        (500, "Overloaded", "overloaded"),
        (529, "", "overloaded"),
        (418, "", "invalid"),
        (302, "", "server"),
        (None, "connection refused", "network"),
        (None, "timed out", "timeout"),
    ],
)
def test_what_a_refusal_means(status: int | None, text: str, kind: str) -> None:
    assert classify(status, text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect key: sk-abcdef1234567890",
        "Authorization: Bearer abcdefgh.ijkl",
        'got {"api_key": "hunter2-hunter2"}',
        "key AIzaSyA1234567890abcdefghij",
        "token 0123456789abcdef0123456789abcdef01",
        "mine is p4ss",
    ],
)
def test_what_looks_like_a_credential_does_not_come_through(text: str) -> None:
    plain = redact(text, "p4ss")
    assert "•••" in plain
    for secret in ("sk-abc", "abcdefgh", "hunter2", "AIza", "0123456789abcdef", "p4ss"):
        assert secret not in plain


def test_the_providers_words_are_short_and_plain() -> None:
    text = "litellm.RateLimitError: RateLimitError: OpenAIException - Slow down.\nSee https://x.y/z?key=1."
    assert detail(text) == "Slow down. See"
    assert len(detail("word " * 200)) == 200


def test_when_to_come_back() -> None:
    assert (seconds("3"), seconds(None), seconds("Wed, 21 Oct"), seconds("-1"), seconds("1e9")) == (
        3,
        None,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("url", "tried"),
    [
        ("http://h:1", ["http://h:1/v1", "http://h:1"]),
        ("http://h:1/v1/", ["http://h:1/v1", "http://h:1"]),
        ("http://h/api/v4", ["http://h/api/v4", "http://h/api"]),
        ("http://h/api", ["http://h/api", "http://h/api/v1"]),
        ("http://h/v1/chat/completions", ["http://h/v1", "http://h"]),
    ],
)
def test_what_an_address_may_mean(url: str, tried: list[str]) -> None:
    assert bases(url) == tried
