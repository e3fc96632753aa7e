"""What a turn did to the world it does not do twice; looking, and what must be repeated, it may."""

from pydantic import BaseModel

from core.runs.once import UNKNOWN, Once
from core.tool import Context, Effect, Tool


class Args(BaseModel):
    pass


async def _run(args: Args, ctx: Context) -> str:
    return ""


def tool(name: str, effect: Effect, group: str = "") -> Tool:
    return Tool(name=name, about="", args=Args, run=_run, effect=effect, group=group)


def did(once: Once, one: Tool, args: dict[str, object], *, ok: bool = True, unknown: bool = False) -> bool:
    """Whether it ran."""
    if once.before(one, one.effect, args):
        return False
    once.after(one, one.effect, args, "done", ok=ok, unknown=unknown)
    return True


SEND = tool("send_telegram", Effect.SEND, "owner")
WRITE = tool("write_file", Effect.WRITE, "files")
TASK = tool("create_task", Effect.WRITE, "tasks")


def test_the_same_send_runs_once_and_another_one_runs() -> None:
    once = Once()
    assert [did(once, SEND, {"text": "a"}) for _ in range(3)] == [True, False, False]
    assert did(once, SEND, {"text": "b"})
    assert once.before(SEND, Effect.SEND, {"text": "a"}) == (
        "Already done in this turn, with exactly these arguments; it was not done again. It had answered: done",
        True,
    )


def test_what_failed_may_be_tried_again_and_what_may_have_happened_may_not() -> None:
    once = Once()
    assert did(once, SEND, {"text": "a"}, ok=False)
    assert did(once, SEND, {"text": "a"}, ok=False, unknown=True)
    assert once.before(SEND, Effect.SEND, {"text": "a"}) == (UNKNOWN, False)


def test_reading_a_command_line_and_a_gesture_may_be_repeated() -> None:
    once = Once()
    for one in (
        tool("read_file", Effect.READ, "files"),
        tool("run_shell", Effect.DANGER, "shell"),
        tool("phone_tap", Effect.DANGER, "phone"),
        tool("browser_click", Effect.WRITE, "mcp"),
    ):
        assert [did(once, one, {}) for _ in range(3)] == [True] * 3


def test_a_file_that_may_be_another_by_now_is_written_again() -> None:
    once = Once()
    assert did(once, WRITE, {"path": "a", "text": "1"})
    assert not did(once, WRITE, {"path": "a", "text": "1"})
    assert did(once, WRITE, {"path": "a", "text": "2"})
    assert did(once, WRITE, {"path": "a", "text": "1"})
    assert did(once, tool("run_shell", Effect.DANGER, "shell"), {"c": "make"})
    assert did(once, WRITE, {"path": "a", "text": "1"})


def test_what_lies_between_does_not_make_a_task_twice() -> None:
    once = Once()
    assert did(once, TASK, {"title": "a"})
    assert did(once, WRITE, {"path": "a"})
    assert not did(once, TASK, {"title": "a"})
