"""Tokens: kept, rotated, paired, revoked, and never guessed at speed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.api import access as module
from core.api import pairing
from core.api.access import (
    Access,
    Attempts,
    Scope,
    TooManyAttempts,
    Unauthorized,
    digest,
    fresh_token,
    owner_token,
)
from core.errors import Invalid, NotFound, Refused
from core.paths import Home
from core.store import Store

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "apx")
    home.make()
    return home


@pytest.fixture
async def store(home: Home) -> AsyncIterator[Store]:
    async with Store.open(home.db) as store:
        yield store


@pytest.fixture
def access(home: Home, store: Store) -> Access:
    return Access(home, store)


def bearer(token: str) -> str:
    return f"Bearer {token}"


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)


def test_the_owners_token_outlives_restarts_and_is_the_owners_alone(home: Home) -> None:
    first = owner_token(home)
    home.token.chmod(0o644)
    assert owner_token(home) == first
    assert home.token.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"short\n", b"two words that are long enough but not one\n", b"\xff" * 40]
)
def test_a_file_that_holds_no_token_is_set_aside_and_never_accepted(home: Home, text: bytes) -> None:
    home.token.write_bytes(text)
    token = owner_token(home)
    assert token.startswith("apx_owner_")
    assert [path.read_bytes() for path in home.root.glob("owner.token.broken-*")] == [text]


def test_a_token_the_owner_chose_is_kept(home: Home) -> None:
    home.token.write_text("0123456789abcdef" * 4 + "\n")
    assert owner_token(home) == "0123456789abcdef" * 4


async def test_the_owner_is_known_by_the_token_alone(access: Access, home: Home) -> None:
    caller = await access.caller(bearer(owner_token(home)))
    assert (caller.scope, caller.client_id) == (Scope.OWNER, "owner")


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer  ", "Basic abc", "apx_owner_x", "Token x"])
async def test_without_a_bearer_token_nobody_is_let_in(access: Access, header: str | None) -> None:
    for _ in range(30):  # and it does not count as a wrong one
        with pytest.raises(Unauthorized):
            await access.caller(header)


async def test_only_a_hash_of_a_devices_token_is_kept(access: Access, store: Store) -> None:
    client_id, token = await access.mint(Scope.BRIDGE, label="phone", project_id="default")
    caller = await access.caller(bearer(token))
    assert (caller.scope, caller.client_id, caller.project_id) == (Scope.BRIDGE, client_id, "default")
    assert [row["token_hash"] for row in await store.all("select token_hash from clients")] == [digest(token)]
    (client,) = await access.clients()
    assert client["last_seen_at"] is not None
    assert token not in str(client)


async def test_a_revoked_device_is_out_at_once_and_its_streams_end(access: Access) -> None:
    client_id, token = await access.mint(Scope.CLIENT, label="tablet", project_id="default")
    caller = await access.caller(bearer(token))
    with access.stream(caller) as gone:
        await access.revoke(client_id)
        assert gone.is_set()
    with pytest.raises(Unauthorized):
        await access.caller(bearer(token))
    with pytest.raises(NotFound):
        await access.revoke(client_id)
    assert await access.clients() == []


async def test_a_rotated_token_ends_the_old_one_and_its_streams(access: Access, home: Home) -> None:
    old = owner_token(home)
    with access.stream(await access.caller(bearer(old))) as gone:
        new = await access.rotate()
        assert gone.is_set()
    assert (await access.caller(bearer(new))).scope is Scope.OWNER
    with pytest.raises(Unauthorized):
        await access.caller(bearer(old))


async def test_a_token_rotated_in_its_file_counts_at_the_next_call(access: Access, home: Home) -> None:
    old = owner_token(home)
    new = module.rotate_owner_token(home)
    assert (await access.caller(bearer(new))).scope is Scope.OWNER
    with pytest.raises(Unauthorized):
        await access.caller(bearer(old))


async def test_a_token_file_that_went_away_changes_nothing(access: Access, home: Home) -> None:
    token = owner_token(home)
    home.token.unlink()
    assert (await access.caller(bearer(token))).scope is Scope.OWNER


async def test_wrong_tokens_are_slowed_down_by_class_while_right_ones_are_served(
    access: Access, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    _, good = await access.mint(Scope.BRIDGE, label="phone", project_id="default")
    outcomes = []
    for _ in range(1000):
        try:
            await access.caller(bearer(fresh_token(Scope.BRIDGE)))
        except (Unauthorized, TooManyAttempts) as error:
            outcomes.append(type(error))
    assert outcomes == [Unauthorized] * 10 + [TooManyAttempts] * 990
    assert (await access.caller(bearer(good))).scope is Scope.BRIDGE
    assert (await access.caller(bearer(owner_token(home)))).scope is Scope.OWNER
    with pytest.raises(Unauthorized):  # another class has its own count
        await access.caller(bearer(fresh_token(Scope.CLIENT)))
    clock.now += 61
    with pytest.raises(Unauthorized):
        await access.caller(bearer(fresh_token(Scope.BRIDGE)))


def test_the_memory_of_wrong_attempts_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    attempts = Attempts()
    for _ in range(10_000):
        attempts.wrong("other")
    assert {kind: len(times) for kind, times in attempts._wrong.items()} == {"other": 10}


async def pair(store: Store, scope: Scope = Scope.BRIDGE) -> dict[str, str]:
    begun = await pairing.begin(store, scope=scope, project_id="default", label="phone")
    return {"pairing_id": begun["pairing_id"], "code": begun["code"]}


async def test_a_code_becomes_a_token_once(access: Access, store: Store) -> None:
    begun = await pair(store)
    begun["code"] = f" {begun['code'][:4].lower()}-{begun['code'][4:]} "
    got = await pairing.confirm(store, access, **begun, label="")
    assert (await access.caller(bearer(got["token"]))).scope is Scope.BRIDGE
    assert (got["scope"], got["label"]) == ("bridge", "phone")
    with pytest.raises(Unauthorized):
        await pairing.confirm(store, access, **begun, label="")


async def test_two_devices_with_one_code_are_one_token(access: Access, store: Store) -> None:
    begun = await pair(store)
    tried = await asyncio.gather(
        *(pairing.confirm(store, access, **begun, label="") for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(one, dict) for one in tried) == 1
    assert len(await access.clients()) == 1


async def test_a_code_is_late_after_five_minutes(access: Access, store: Store) -> None:
    begun = await pair(store)
    await store.run("update pairings set expires_at = '2020-01-01T00:00:00.000+00:00'")
    with pytest.raises(Unauthorized):
        await pairing.confirm(store, access, **begun, label="")


async def test_a_pairing_closes_after_five_wrong_codes_and_guessing_is_slowed_down(
    access: Access, store: Store
) -> None:
    begun = await pair(store)
    for _ in range(5):
        with pytest.raises(Unauthorized):
            await pairing.confirm(store, access, pairing_id=begun["pairing_id"], code="WRONGONE", label="")
    with pytest.raises(Unauthorized):
        await pairing.confirm(store, access, **begun, label="")
    for _ in range(4):
        with pytest.raises(Unauthorized):
            await pairing.confirm(store, access, pairing_id="none", code="", label="")
    with pytest.raises(TooManyAttempts):
        await pairing.confirm(store, access, **(await pair(store)), label="")


@pytest.mark.parametrize("scope", [Scope.OWNER, Scope.AGENT])
async def test_an_owner_cannot_be_paired(store: Store, scope: Scope) -> None:
    with pytest.raises(Invalid):
        await pairing.begin(store, scope=scope, project_id="default", label="")


def test_a_scope_that_is_not_enough_is_refused() -> None:
    with pytest.raises(Refused):
        module.Caller(Scope.CLIENT, "cli_1").needs(Scope.OWNER)
