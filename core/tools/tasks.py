"""The owner's tasks, as a model works with them; those of the conversation's project, unless it asks for all."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from core import projects, tasks
from core.errors import Invalid
from core.tasks import Task
from core.tool import Context, Effect, tool

GROUP = "tasks"
Status = Literal["pending", "running", "in_review", "blocked"]


class Arguments(BaseModel):
    """Arguments of these tools: what is not declared is a mistake of the model, and told to it."""

    model_config = ConfigDict(extra="forbid")


class CreateTask(Arguments):
    title: str = Field(
        description="What is to be done, in a few words.", min_length=1, max_length=tasks.MAX_TITLE
    )
    body: str = Field("", description="Whatever else is needed to do it.", max_length=tasks.MAX_BODY)
    due: str = Field("", description="A date or a moment: 2026-03-31 or 2026-03-31T18:00.", max_length=40)
    project: str = Field("", description="Another project than this conversation's, by name.", max_length=80)


class ListTasks(Arguments):
    state: Literal["open", "done", "dropped", "all"] = Field("open", description="Which ones.")
    project: str = Field("", description='A project by name, or "all".', max_length=80)


class OneTask(Arguments):
    id: int = Field(description="The task's number.", ge=1)


class UpdateTask(OneTask):
    title: str | None = Field(None, description="A new title.", max_length=tasks.MAX_TITLE)
    body: str | None = Field(None, description="A new text.", max_length=tasks.MAX_BODY)
    status: Status | None = Field(None, description="How far it is.")
    due: str | None = Field(None, description="A new date; empty: none.", max_length=40)


class CompleteTask(OneTask):
    state: Literal["done", "dropped", "open"] = Field("done", description='"open" takes it up again.')


class CommentTask(OneTask):
    text: str = Field(description="One comment.", min_length=1, max_length=tasks.MAX_COMMENT)


async def _project(ctx: Context, named: str) -> str:
    return (await projects.find(ctx.store, named)).id if named else ctx.turn.project_id


def _author(ctx: Context) -> str:
    turn = ctx.turn
    if turn.channel == "group" and turn.role:
        return turn.answerer
    return ctx.identity.now.agent_name if turn.sender == "owner" or turn.channel == "group" else turn.sender


def _line(task: Task) -> str:
    more = [task.status if task.state == "open" else task.state]
    more += [f"due {task.due}"] if task.due else []
    more += [f"{task.comments} comments"] if task.comments else []
    return f"{task.id}: {task.title} ({task.project_id}; {', '.join(more)})"


@tool(Effect.WRITE, group=GROUP)
async def create_task(args: CreateTask, ctx: Context) -> str:
    """Write down something to be done later."""
    task = await tasks.create(
        ctx.store,
        ctx.bus,
        project_id=await _project(ctx, args.project),
        title=args.title,
        body=args.body,
        due=args.due,
        author=_author(ctx),
        run_id=ctx.run_id,
    )
    return f"Task {_line(task)}"


@tool(Effect.READ, group=GROUP)
async def list_tasks(args: ListTasks, ctx: Context) -> str:
    """The tasks, what is due first on top."""
    project = None if args.project == "all" else await _project(ctx, args.project)
    state = None if args.state == "all" else args.state
    found = await tasks.listed(ctx.store, project_id=project, state=state, limit=100)
    return "\n".join(f"- {_line(one)}" for one in found) or "There are none."


@tool(Effect.READ, group=GROUP)
async def get_task(args: OneTask, ctx: Context) -> str:
    """One task with its text and its comments."""
    task = await tasks.find(ctx.store, args.id)
    said = [f"[{one.at[:16]}] {one.author}: {one.text}" for one in await tasks.thread(ctx.store, args.id)]
    return "\n".join(filter(None, (_line(task), task.body, *said)))


@tool(Effect.WRITE, group=GROUP)
async def update_task(args: UpdateTask, ctx: Context) -> str:
    """Change a task's title, text, status or date. Only what is given changes."""
    changes = args.model_dump(exclude_none=True, exclude={"id"})
    if not changes:
        raise Invalid("Name at least one field to change.")
    return f"Task {_line(await tasks.update(ctx.store, ctx.bus, args.id, changes, run_id=ctx.run_id))}"


@tool(Effect.WRITE, group=GROUP)
async def complete_task(args: CompleteTask, ctx: Context) -> str:
    """Close a task as done or dropped, or take it up again."""
    task = await tasks.update(ctx.store, ctx.bus, args.id, {"state": args.state}, run_id=ctx.run_id)
    return f"Task {_line(task)}"


@tool(Effect.WRITE, group=GROUP)
async def comment_task(args: CommentTask, ctx: Context) -> str:
    """Add a comment to a task's thread."""
    await tasks.comment(ctx.store, ctx.bus, args.id, args.text, author=_author(ctx), run_id=ctx.run_id)
    return f"Added to task {args.id}."


TOOLS = (create_task, list_tasks, get_task, update_task, complete_task, comment_task)
