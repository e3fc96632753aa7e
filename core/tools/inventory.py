"""What there is: the owner's projects, the agents of each, and what was said lately, wherever it was."""

from pydantic import BaseModel, ConfigDict, Field

from core import agents, projects
from core.neutral import one_line
from core.tool import Context, Effect, tool

GROUP = "inventory"
MAX_LINE = 600


class Arguments(BaseModel):
    """Arguments of these tools: what is not declared is a mistake of the model, and told to it."""

    model_config = ConfigDict(extra="forbid")


class ListAgents(Arguments):
    project: str = Field("", description="Only those of this project, by name or id.", max_length=80)


class AddProject(Arguments):
    path: str = Field(description="The whole path of a folder that is there.", min_length=1, max_length=4096)
    name: str = Field("", description="What to call it; empty: the folder's name.", max_length=80)


class TailMessages(Arguments):
    channel: str = Field("", description="Only this channel: telegram, desktop, a2a, api.", max_length=40)
    thread: str = Field("", description="Only this conversation, by its name.", max_length=200)
    limit: int = Field(20, description="How many lines.", ge=1, le=100)


@tool(Effect.READ, group=GROUP)
async def list_projects(args: Arguments, ctx: Context) -> str:
    """The owner's projects with their folders; the default one has a folder of its own."""
    lines = []
    for one in await projects.listed(ctx.store):
        here = " (this conversation's)" if one.id == ctx.turn.project_id else ""
        lines.append(f"- {one.id}: {one.name}{here}, {await projects.root(ctx.store, ctx.home, one.id)}")
    return "\n".join(lines)


@tool(Effect.DANGER, group=GROUP)
async def add_project(args: AddProject, ctx: Context) -> str:
    """Make a folder of this computer a project, when the owner asks for it: agents may work in it from then on."""
    project = await projects.add(ctx.store, args.path, name=args.name)
    return f"{project.name} is a project now, as {project.id}: {project.path}"


@tool(Effect.READ, group=GROUP)
async def list_agents(args: ListAgents, ctx: Context) -> str:
    """The agents that work can be handed to, of all projects or of one."""
    project_id = (await projects.find(ctx.store, args.project)).id if args.project else None
    lines = [
        f"- {one.slug} ({one.name}; {one.project_id}): {one_line(one.instructions, 120) or 'no instructions'}"
        for one in await agents.listed(ctx.store, project_id)
    ]
    return "\n".join(lines) or "There are none; the owner adds them with: apx agent add"


@tool(Effect.READ, group=GROUP)
async def tail_messages(args: TailMessages, ctx: Context) -> str:
    """The last lines that were said, on every channel or on one: to see what is going on elsewhere.

    To find words that were said once, use search_sessions.
    """
    rows = await ctx.store.all(
        "select at, channel, thread, author, text from messages where (?1 = '' or channel = ?1)"
        " and (?2 = '' or thread = ?2) and text != '' and coalesce(run_id, '') != ?3 order by id desc limit ?4",
        *(args.channel, args.thread, ctx.run_id, args.limit),
    )
    lines = [
        f"[{row['at'][:16]}] {row['thread'] or row['channel']}, {row['author']}: {one_line(row['text'], MAX_LINE)}"
        for row in reversed(rows)
    ]
    return "\n".join(lines) or "Nothing was said there."


TOOLS = (list_projects, add_project, list_agents, tail_messages)
