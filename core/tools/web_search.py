"""Looking something up on the web: one of three providers, asked in its own way, answers in one form.

An address that the owner set is asked wherever it is, without being led elsewhere; the providers' own addresses pass
the same checks as every page. What comes back was written by others.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field

from core.errors import NotConfigured, Refused, Unavailable
from core.neutral import one_line
from core.settings import WebSearch as Settings
from core.tool import Context, Effect, tool
from core.tools.result_page import Changed, Found, duckduckgo
from core.tools.web import DATA, MAX_BYTES, Answer, Visitor

TOTAL_S = 20.0
MAX_RESULTS = 20
MAX_TITLE = 200
MAX_SNIPPET = 400
MAX_ADDRESS = 1000
BRAVE_MOST = 20
# The page of DuckDuckGo without scripts answers a program that says what it is.
DUCKDUCKGO = "https://html.duckduckgo.com/html/"
BRAVE = "https://api.search.brave.com/res/v1/web/search"


class WebSearch(BaseModel):
    """Arguments of web_search."""

    model_config = ConfigDict(extra="forbid")
    query: str = Field(
        description="What to look for, in the words of a search engine.", min_length=1, max_length=400
    )
    limit: int = Field(8, description="How many results at most.", ge=1, le=MAX_RESULTS)


@dataclass(frozen=True, slots=True)
class Provider:
    """`read` makes results of an answer; `Changed` says that it is not what is known of this provider."""

    name: str
    address: str
    read: Callable[[bytes], list[Found]]


def _brave(body: bytes) -> list[Found]:
    answer = _object(body)
    web = answer.get("web") or {}
    if not isinstance(web, dict) or not isinstance(web.get("results", []), list):
        raise Changed("web.results")
    return [_found(one, "description") for one in web.get("results", [])]


def _searxng(body: bytes) -> list[Found]:
    results = _object(body).get("results")
    if not isinstance(results, list):
        raise Changed("results")
    return [_found(one, "content") for one in results]


def _object(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise Changed("no JSON") from error
    if not isinstance(answer, dict):
        raise Changed("no object")
    return answer


def _found(one: Any, about: str) -> Found:
    if not isinstance(one, dict):
        raise Changed("a result")
    return Found(str(one.get("title") or ""), str(one.get("url") or ""), str(one.get(about) or ""))


PROVIDERS = {
    "duckduckgo": Provider("DuckDuckGo", DUCKDUCKGO, duckduckgo),
    "brave": Provider("Brave", BRAVE, _brave),
    "searxng": Provider("SearXNG", "", _searxng),
}

KEYED = frozenset({"brave", "searxng"})


async def search(settings: Settings, key: str, query: str, limit: int, visitor: Visitor) -> list[Found]:
    """The results of one query; every reason why there are none is a sentence of its own."""
    provider = PROVIDERS[settings.provider]
    address = settings.base_url or provider.address
    if not address:
        raise NotConfigured(
            "SearXNG has no address yet: apx config set --global web_search.base_url https://your.searxng"
        )
    asked: dict[str, str | int] = {"q": query}
    headers = {"accept": "application/json"}
    if settings.provider == "brave":
        if not key:
            raise NotConfigured(
                "Brave needs a key: put one in the settings, or: apx config set --global web_search.api_key KEY"
            )
        headers["X-Subscription-Token"] = key
        asked |= {"count": min(limit, BRAVE_MOST), "text_decorations": "false"}
    elif settings.provider == "searxng":
        address = (
            address.rstrip("/")
            if address.rstrip("/").endswith("/search")
            else f"{address.rstrip('/')}/search"
        )
        asked |= {"format": "json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
    else:
        headers["accept"] = "text/html"
    joint = "&" if urlsplit(address).query else "?"
    url = f"{address}{joint}{urlencode(asked)}"
    answer = await (_own(url, headers) if settings.base_url else visitor.get(url, headers))
    _holds(provider, answer, settings.provider)
    try:
        found = provider.read(answer.body)
    except Changed as error:
        raise Unavailable(
            f"{provider.name} answered something else than results ({error}); it may have changed, or want "
            "to see a person. Try another provider."
        ) from error
    return _clean(found)[:limit]


async def _own(url: str, headers: dict[str, str]) -> Answer:
    """Ask the owner's own address: it may be near home, and it leads nowhere else."""
    import httpx

    host = urlsplit(url).netloc
    try:
        async with (
            asyncio.timeout(TOTAL_S),
            httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=TOTAL_S) as http,
            http.stream("GET", url, headers={"user-agent": "apx", **headers}) as answer,
        ):
            body = bytearray()
            async for piece in answer.aiter_bytes(65_536):
                body += piece
                if len(body) > MAX_BYTES:
                    raise Unavailable(f"The answer of {host} is too long.")
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        raise Unavailable(f"{host} did not answer: {type(error).__name__}.") from error
    if answer.is_redirect:
        raise Refused(
            f"{host} leads elsewhere, and is not followed there. Set web_search.base_url to where it leads."
        )
    return Answer(url, answer.status_code, answer.headers.get("content-type", ""), bytes(body), cut=False)


def _holds(provider: Provider, answer: Answer, name: str) -> None:
    """Not every answer is one."""
    status = answer.status
    if status in (429, 202) or (name == "duckduckgo" and status == 403):
        # DuckDuckGo says 202 with a page that asks whether a person is there.
        raise Unavailable(
            f"{provider.name} wants fewer questions for a while. Wait, or use another provider."
        )
    if status in (401, 403, 422):
        what = "the key" if name == "brave" else "this (a SearXNG must allow the format json)"
        raise Unavailable(f"{provider.name} did not accept {what}: it answered {status}.")
    if status != 200:
        raise Unavailable(f"{provider.name} answered {status}.")
    if not answer.body.strip():
        raise Unavailable(f"{provider.name} answered an empty page.")


def _clean(found: list[Found]) -> list[Found]:
    """Results as lines: only addresses of the web, each once, and no text that could pass for another one."""
    kept: dict[str, Found] = {}
    for one in found:
        url = one.url.strip()
        if not url.lower().startswith(("http://", "https://")) or len(url) > MAX_ADDRESS or url in kept:
            continue
        url = "".join(letter for letter in url if letter.isprintable() and not letter.isspace())
        kept[url] = Found(
            one_line(one.title, MAX_TITLE) or "Without a title", url, one_line(one.snippet, MAX_SNIPPET)
        )
    return list(kept.values())


def shown(provider: str, query: str, found: list[Found]) -> str:
    """What the model reads."""
    name = PROVIDERS[provider].name
    if not found:
        return f"{name} found nothing for: {query}"
    lines = [f"{name}, results: {len(found)}. {DATA}", ""]
    for n, one in enumerate(found, 1):
        lines.append(f"{n}. {one.title}\n   {one.url}" + (f"\n   {one.snippet}" if one.snippet else ""))
    return "\n".join(lines)


@tool(Effect.READ, group="web")
async def web_search(args: WebSearch, ctx: Context) -> str:
    """Search the web: titles, addresses and a line of each result. Read one with fetch, or open it in the browser."""
    settings = ctx.config.now.web_search
    wanted = settings.api_key if settings.provider in KEYED else ""
    key = await ctx.config.secret(wanted) if wanted else ""
    visitor: Visitor = ctx.services.get(Visitor) or Visitor(total_s=TOTAL_S)
    found = await search(settings, key, args.query, args.limit, visitor)
    return shown(settings.provider, args.query, found)


TOOLS = (web_search,)
