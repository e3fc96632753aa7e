"""The phone's shell quotes, pipes and redirects like a shell, so that wrong escaping types the wrong text."""

import asyncio

import pytest

from bridge.simulator.casts import empty
from bridge.simulator.commands import find
from bridge.simulator.phone import SimPhone
from bridge.simulator.shell import Buffer, Io, Pipe, Shell

pytestmark = pytest.mark.anyio


async def run(line: str, phone: SimPhone | None = None) -> tuple[int, str, str]:
    out, err = Buffer(), Buffer()
    code = await Shell(phone or empty(), find).run(line, Io(Pipe(b""), out, err))
    return code, out.data.decode(), err.data.decode()


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("echo a   b", "a b\n"),
        ("echo 'a   b'", "a   b\n"),
        ("echo 'it'\\''s'", "it's\n"),
        ('echo "it\'s $USER"', "it's shell\n"),
        ("echo 'it$USER'", "it$USER\n"),
        ("echo \\$USER \\\\", "$USER \\\n"),
        ("echo #channel", "\n"),
        ("echo '#channel' a#b", "#channel a#b\n"),
        ("echo ~/x '~/x'", "//x ~/x\n"),
        ("echo `echo in` $(echo $(echo deep))", "in deep\n"),
        ('X="a  b"; echo $X "$X" ${Y:-none}', "a b a  b none\n"),
        ("false; echo $?", "1\n"),
        ("true && echo yes || echo no", "yes\n"),
        ("false && echo yes || echo no", "no\n"),
        ("! true; echo $?", "1\n"),
        ("printf '%s-%s\\n' a b c", "a-b\nc-\n"),
        ("echo one > /sdcard/f; echo two >> /sdcard/f; cat /sdcard/f; rm -f /sdcard/f", "one\ntwo\n"),
        ("nothing 2>/dev/null; echo $?", "127\n"),
        ("nothing 2>&1 | wc -l", "1\n"),
        ("printf 'a\\nb\\nc\\n' | grep -v b | tail -n 1", "c\n"),
        ("printf 'a:b\\nc:d\\n' | cut -d: -f2 | tr '\\n' ' '", "b d "),
        ("printf 'a\\nb\\nc\\n' | sed -n 2p", "b\n"),
        ("echo mFocus=1 | grep -m1 -oE 'm[A-Z][a-z]+'", "mFocus\n"),
        ("for x in 1 2 3; do if [ $x -gt 1 ]; then echo $x; fi; done", "2\n3\n"),
        ("[ -z \"$(cat /sdcard/none 2>/dev/null)\" ] && echo empty", "empty\n"),
        ("sh -c 'echo inner; exit 4'; echo $?", "inner\n4\n"),
        ("(exit 3); echo $?", "3\n"),
    ],
)  # fmt: skip
async def test_lines_mean_what_a_shell_means(line: str, printed: str) -> None:
    assert (await run(line))[1] == printed


async def test_an_open_quote_is_an_error_and_runs_nothing() -> None:
    code, out, err = await run("echo before; echo 'open")
    assert (code, out) == (1, "")
    assert "no closing quote" in err


async def test_a_stream_ends_when_its_reader_has_enough() -> None:
    phone = empty()
    phone.log_event("notification_enqueue", "[1]")
    out = Buffer()
    line = "logcat -b events -v raw | grep -m1 1"
    running = asyncio.create_task(Shell(phone, find).run(line, Io(Pipe(b""), out, out)))
    async with asyncio.timeout(2):
        while not running.done():
            phone.log_event("notification_enqueue", "[2]")  # the writer notices at its next line
            await asyncio.sleep(0)
    assert out.data == b"[1]\n"
    assert phone.event_listeners == set()


async def typed(line: str) -> str:
    phone = empty()
    chat = phone.whatsapp.add("Ana", number="34600000001")
    phone.foreground = "com.whatsapp"
    phone.whatsapp.open(chat)
    phone.whatsapp.focus()
    await run(line, phone)
    return chat.draft


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("input text 'a%sb'", "a b"),
        ("input text '#a~ $HOME `id` & ; | < >'", "#a~ $HOME `id` & ; | < >"),
        ('input text "pay $USER"', "pay shell"),
        ("input text two words", ""),
        ("input text #general", ""),
        ("input text 'ñandú'", ""),
        ("input text 'it'\\''s'", "it's"),
    ],
)
async def test_text_arrives_as_the_quoting_says(line: str, text: str) -> None:
    assert await typed(line) == text


async def test_text_that_no_key_has_crashes_input() -> None:
    code, _, err = await run("input text 'á'")
    assert code != 0
    assert "NullPointerException: Attempt to get length of null array" in err


async def test_faults_of_the_shell_strike_when_told() -> None:
    phone = empty()
    phone.faults.set("command_not_found", "wm", after=1, times=1)
    assert [(await run("wm size", phone))[0] for _ in range(3)] == [0, 127, 0]
    phone.faults.set("F28", "getprop")
    assert "Permission denied" in (await run("getprop", phone))[2]
    phone.faults.set("never_ends", "wm")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await run("wm size", phone)
