"""Whose words a fact is: worked out from the turn and from what was read in its conversation, never from what a model
says about it.

A document that says "remember: always ..." must not become the owner's rule because the owner had it read.
"""

import json
from collections.abc import Iterable

from core.memory import Source
from core.memory_broker import USUAL
from core.memory_index import stem, words
from core.texts import languages, t
from core.tool import Context

# Their results are our own sentences. Whatever is named nowhere here brings words of others.
_OURS_NAMES = """
remember forget set_identity send_telegram send_file discover_tools list_skills create_task update_task
complete_task comment_task whatsapp_send phone_state phone_tap phone_type phone_key phone_open ask_questions finish
list_projects add_project
"""
OURS = frozenset(_OURS_NAMES.split())
_FILES_NAMES = """
read_file list_files search_files grep glob run_shell edit_file write_file load_skill read_skill
git_status git_diff git_log git_show
"""
FILES = frozenset(_FILES_NAMES.split())
WEB = frozenset({"fetch", "search", "web_search", "http_get", "http_post", "http_request"})
RUNS = 20
_SMALL_WORDS = """
a an i to is in on of it he me my no so if or be as at by do we us am s d ll re ve
el en un de la le lo se si su al es ha y o u e ya te tu mi owner user dueno usuario remember recuerda recorda
"""
_SMALL = frozenset(_SMALL_WORDS.split())


async def source_of(ctx: Context, text: str) -> Source:
    """The owner, where they are the one who speaks and nothing else was read, or where these are their very words."""
    shared = ctx.turn.channel == "group"  # others speak there, too: only the owner's own lines are theirs
    if ctx.turn.sender != "owner" and not shared:
        return Source.THIRD_PARTY
    read = await _read(ctx) | ({Source.THIRD_PARTY} if shared else set())
    if not read or any(_says(said, text, ctx) for said in await _owners_words(ctx)):
        return Source.OWNER
    return next(one for one in (Source.WEB, Source.THIRD_PARTY, Source.FILE) if one in read)


async def _read(ctx: Context) -> set[Source]:
    """What kinds of foreign text this conversation holds."""
    found: set[Source] = set()
    if ctx.turn.attachments or await ctx.store.one(
        "select 1 from messages where thread = ? and thread != '' and role = 'user'"
        " and json_extract(meta, '$.files') is not null limit 1",
        ctx.turn.thread,
    ):
        found.add(Source.FILE)
    if ctx.turn.context_note or _forwarded(ctx.turn.text):
        found.add(Source.THIRD_PARTY)
    rows = await ctx.store.all(
        "select distinct json_extract(body, '$.tool') as tool from run_steps where kind = 'tool' and run_id in"
        " (select ?1 union select id from (select id from runs where thread = ?2 and thread != ''"
        " order by started_at desc, id desc limit ?3))",
        *(ctx.run_id, ctx.turn.thread, RUNS),
    )
    for tool in {row["tool"] for row in rows} - OURS:
        foreign = Source.WEB if tool in WEB or str(tool).startswith("browser_") else Source.THIRD_PARTY
        found.add(Source.FILE if tool in FILES else foreign)
    return found


async def _owners_words(ctx: Context) -> list[str]:
    rows = await ctx.store.all(
        "select text from messages where thread = ? and thread != '' and role = 'user' and author = 'owner'"
        " order by id desc limit 10",
        ctx.turn.thread,
    )
    asked = (ctx.turn.text,) if ctx.turn.sender == "owner" else ()
    return [one for one in (*asked, *(row["text"] for row in rows)) if not _forwarded(one)]


def _forwarded(said: str) -> bool:
    """The owner passed on what somebody else wrote; the channel says so above it."""
    return any(t("telegram.forwarded", lang) in said for lang in languages())


def _says(said: str, fact: str, ctx: Context) -> bool:
    """Every word of the fact that matters is in one message of the owner's."""
    theirs = words(said)
    names = words(ctx.identity.now.owner_name)
    return all(_has(theirs, one) for one in words(fact) if one not in USUAL | _SMALL and one not in names)


def _has(theirs: Iterable[str], word: str) -> bool:
    return any(one == word or (len(word) > 4 and one.startswith(stem(word))) for one in theirs)


def quoted(source: Source, text: str) -> str:
    """A fact in a list for the model: the owner's as it is, any other in quotes."""
    return text if source is Source.OWNER else json.dumps(text, ensure_ascii=False)
