"""The owner's tools, called by a model through the one door."""

import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.events import IdentityChanged
from core.runs.turn import Run, Status
from core.tools import owner
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer

pytestmark = pytest.mark.anyio


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


PIXEL = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", bytes.fromhex("00000001000000010806000000"))
    + _chunk(b"IDAT", zlib.compress(b"\0\0\0\0\0"))
    + _chunk(b"IEND", b"")
)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        built.tools.add(*owner.TOOLS)
        yield built


async def call(here: House, name: str, args: dict[str, object], **changes: object) -> Run:
    here.server.next(Answer(calls=[(name, args)]), Answer("Done."))
    run = await here.runner.run(turn(**changes))
    assert run.status is Status.DONE
    return run


async def test_a_file_goes_with_the_answer(here: House, tmp_path: Path) -> None:
    picture = tmp_path / "shot.png"
    picture.write_bytes(PIXEL)
    run = await call(here, "send_file", {"path": str(picture), "caption": "look"})
    assert [call.ok for call in run.calls] == [True], run.calls[0].result
    (file,) = run.files
    assert (file.name, file.kind, file.caption, file.path.read_bytes()) == (
        "shot.png",
        "image",
        "look",
        PIXEL,
    )


async def test_a_relative_path_counts_from_the_project(here: House, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "shot.png").write_bytes(PIXEL)
    await here.store.run(
        "insert into projects (id, name, path, created_at) values ('p', 'p', ?, '')", str(tmp_path / "work")
    )
    run = await call(here, "send_file", {"path": "shot.png"}, project_id="p")
    assert [file.name for file in run.files] == ["shot.png"]


async def test_what_the_rules_forbid_is_not_sent(here: House) -> None:
    run = await call(here, "send_file", {"path": str(here.home.config)})
    assert (run.files, run.calls[0].ok) == ([], False)


async def test_a_message_to_telegram_waits_in_the_outbox_once_the_owner_agrees(here: House) -> None:
    run = await call(here, "send_telegram", {"text": "hi"}, can_ask=True)
    assert run.calls[0].ok
    (row,) = await here.store.all("select channel, recipient, state from outbox")
    assert tuple(row) == ("telegram", "owner", "queued")
    assert [one.tool for one in here.asked] == ["send_telegram"]


async def test_an_encoded_file_is_not_a_message(here: House) -> None:
    run = await call(here, "send_telegram", {"text": "data:image/png;base64,AAAA"}, can_ask=True)
    assert not run.calls[0].ok
    assert await here.store.all("select * from outbox") == []


async def test_the_identity_changes_at_once_and_only_where_asked(here: House) -> None:
    await here.identity.set(owner_name="Eva")
    run = await call(here, "set_identity", {"agent_name": "Roby"})
    assert run.calls[0].ok
    assert (here.identity.now.agent_name, here.identity.now.owner_name) == ("Roby", "Eva")
    assert here.seen(IdentityChanged)[-1].agent_name == "Roby"


@pytest.mark.parametrize("args", [{}, {"agent_name": ""}, {"color": "red"}, {"language": "not a language!"}])
async def test_a_wrong_change_changes_nothing(here: House, args: dict[str, object]) -> None:
    before = here.identity.now
    run = await call(here, "set_identity", args)
    assert not run.calls[0].ok
    assert here.identity.now == before
