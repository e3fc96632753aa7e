"""Agents, their work and the conversations over one open app, as the callables of their widgets."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from core import agents
from core.errors import Unavailable
from core.runs import jobs, pictures, selection, titles
from core.runs.handover import Handover
from core.runs.peers import is_assistant
from core.runs.turn import Run
from core.store import new_id
from desktop import past, records
from desktop.at_work import Working
from desktop.chat import THREAD, Chat
from desktop.jobs import Job, JobsScreen
from desktop.threads import Conversations, Doors, Listed
from desktop.words import Words

if TYPE_CHECKING:
    from core.app import App
    from core.runs.pictures import Picture
    from core.runs.turn import Attachment

SHOWN = "desktop.thread"
LISTED = 60


class Team:
    """Who is called what: an agent by its name, the assistant by its own."""

    def __init__(self, app: "App", words: Words) -> None:
        self._app, self._words = app, words
        self._agents: dict[str, agents.Agent] = {}

    async def read(self) -> None:
        """Read the agents again."""
        self._agents = {one.slug: one for one in await agents.listed(self._app.store)}

    def called(self, name: str) -> str:
        """The name that people know somebody by."""
        one = self._agents.get(name.strip().lower())
        if one is not None:
            return one.name
        identity = self._app.identity.now
        return identity.agent_name if is_assistant(name, identity) else name

    def icon(self, address: str) -> str:
        """Whose face is shown."""
        one = self._agents.get(address)
        return one.icon if one is not None and one.icon else self._app.identity.icon

    async def at_work(self) -> Sequence[Working]:
        """The tree of those at work now."""
        await self.read()
        return [self._working(one) for one in await jobs.at_work(self._app.store)]

    def _working(self, one: Mapping[str, Any]) -> Working:
        return Working(
            job_id=one["job_id"],
            who=one["name"] or self.called(one["agent"]),
            asked_by=self.called(one["from"]),
            icon=one["icon"] or self.icon(one["agent"]),
            what=one["what"],
            since=datetime.fromisoformat(one["since"]),
            waited=one["waited"],
            below=tuple(self._working(below) for below in one["below"]),
        )

    async def stop(self, job_id: str) -> None:
        """Stop one of them."""
        service: Handover | None = self._app.services.get(Handover)
        if service is None:
            raise Unavailable(self._words("work.none_here"))
        await service.cancel(job_id)

    async def result(self, job_id: str) -> str:
        """What came of a job."""
        return (await jobs.find(self._app.store, job_id)).result

    async def handed_over(self, which: str, limit: int) -> Sequence[Job]:
        """The latest jobs; `which` is open, ended or all."""
        await self.read()
        rows = await jobs.recent(self._app.store, open=which == "open", limit=limit)
        return [self._job(one) for one in rows if which != "ended" or one.closed_at]

    def _job(self, one: jobs.Job) -> Job:
        return Job(
            id=one.id,
            who=self.called(one.recipient),
            icon=self.icon(one.recipient),
            asked_by=self.called(one.sender),
            status=str(one.status),
            waited=one.waited,
            body=one.body,
            result=one.result,
            created_at=datetime.fromisoformat(one.created_at),
            closed_at=datetime.fromisoformat(one.closed_at) if one.closed_at else None,
        )

    def screen(self) -> JobsScreen:
        """The screen of their work."""
        return JobsScreen(self._words, read=self.handed_over, stop=self.stop)


class Talks:
    """The conversations of this window and of the other channels, opened in the chat."""

    def __init__(
        self, app: "App", chat: Chat, conversations: Conversations, team: Team, words: Words
    ) -> None:
        self._app, self._chat, self._words = app, chat, words
        self._conversations, self._team = conversations, team

    async def open(self) -> None:
        """Show the conversation that was shown last, and list the others."""
        app = self._app
        thread = await records.kept(app.store, SHOWN) or THREAD
        await self._team.read()
        self._chat.open(
            app.runner.run,
            self.find,
            await self._past(thread),
            keep=self.keep,
            unseen=self.unseen,
            result=self._team.result,
            called=self._team.called,
            thread=thread,
        )
        self._conversations.serve(Doors(self.listed, self.go, self.begin))
        await self._conversations.refresh()

    async def find(self, media_id: str) -> Any:
        return await records.media_path(self._app.store, self._app.home, media_id)

    async def keep(self, picture: "Picture") -> "Attachment":
        return await pictures.keep(self._app.store, self._app.home, picture)

    def unseen(self, run: Run) -> Sequence[str]:
        return self._app.runner.router.unseen(run)

    def blind(self) -> str:
        """The model that a picture goes to, where that one does not see it."""
        settings = self._app.config.now
        of = selection.Facts(channel="desktop", text="", has_image=True)
        chosen = selection.select(settings, asked=None, of=of)
        if chosen is None or ":" not in chosen.model or self._app.runner.router.sees(chosen.model):
            return ""
        return chosen.model.partition(":")[2]

    async def listed(self) -> Sequence[Listed]:
        """The owner's conversations, wherever they are held."""
        rows = await titles.listed(self._app.store, self._words.lang, limit=LISTED)
        return [
            Listed(one.thread, one.channel, one.title, datetime.fromisoformat(one.last_at)) for one in rows
        ]

    async def go(self, one: Listed) -> None:
        """Show one; what is held elsewhere is only read here."""
        here = one.channel == "desktop"
        entries = await self._past(one.thread)
        self._chat.show_thread(one.thread, entries, "" if here else "composer.elsewhere")
        if here:
            await records.keep(self._app.store, SHOWN, one.thread)

    async def begin(self) -> None:
        """A new one; it is in the list once something was said in it."""
        thread = f"{THREAD}:{new_id('thr')}"
        self._chat.show_thread(thread, ())
        await records.keep(self._app.store, SHOWN, thread)

    async def _past(self, thread: str) -> Any:
        return await past.history(self._app.store, self._app.home, thread, self._team.called)
