"""Know-how on demand: what there is, the whole of one, a file of one."""

import asyncio

from pydantic import BaseModel, ConfigDict, Field

from core import projects, skills
from core.errors import Invalid
from core.skills import Skill
from core.tool import Context, Effect, tool

GROUP = "skills"


class Arguments(BaseModel):
    """Arguments of these tools: what is not declared is a mistake of the model, and told to it."""

    model_config = ConfigDict(extra="forbid")


class Named(Arguments):
    name: str = Field(description="The skill's name, as list_skills shows it.", min_length=1, max_length=64)


class ReadSkill(Named):
    file: str = Field(skills.FILE, description="A file of its folder.", max_length=400)
    offset: int = Field(0, description="Where to go on in a long file.", ge=0, le=10_000_000)


async def _found(ctx: Context, name: str) -> Skill:
    root = await projects.root(ctx.store, ctx.home, ctx.turn.project_id)
    skill = await asyncio.to_thread(skills.find, ctx.home, root, name)
    if skill.problem:
        raise Invalid(f"The skill {skill.name} cannot be used: {skill.problem}")
    return skill


@tool(Effect.READ, group=GROUP)
async def list_skills(args: Arguments, ctx: Context) -> str:
    """The skills there are: instructions for a kind of work, each with when it is of use."""
    root = await projects.root(ctx.store, ctx.home, ctx.turn.project_id)
    found = await asyncio.to_thread(skills.listed, ctx.home, root)
    return (
        "\n".join(f"- {one.name} ({one.scope}): {one.about}" for one in found if not one.problem)
        or "There are none."
    )


@tool(Effect.READ, group=GROUP)
async def load_skill(args: Named, ctx: Context) -> str:
    """Read a skill's instructions before work that it fits; the tools it needs are at hand from the next step on."""
    skill = await _found(ctx, args.name)
    text = await asyncio.to_thread(skills.load, skill)
    taken = ctx.take(skill.tools) if ctx.take is not None else []
    return f"{text}\n\n[at hand from the next step on: {', '.join(taken)}]" if taken else text


@tool(Effect.READ, group=GROUP)
async def read_skill(args: ReadSkill, ctx: Context) -> str:
    """Read one file of a skill's folder, a piece at a time."""
    return await asyncio.to_thread(skills.read, await _found(ctx, args.name), args.file, args.offset)


TOOLS = (list_skills, load_skill, read_skill)
