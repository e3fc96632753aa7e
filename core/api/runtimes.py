"""The coding assistants of this computer over HTTP."""

from fastapi import APIRouter
from starlette.responses import Response

from core.api.request import Owner, reply
from core.tools import runtimes

router = APIRouter(tags=["runtimes"])


@router.get("/api/runtimes")
async def list_runtimes(_: Owner, versions: bool = False) -> Response:
    """All that are known and where each is; with `versions` each is asked for its own."""
    told = await runtimes.versions() if versions else {}
    rows = [
        {
            "name": one.name,
            "program": one.program,
            "found": bool(path),
            "path": path,
            "version": told.get(one.name, ""),
            "install": one.install,
        }
        for one, path in runtimes.found()
    ]
    return reply({"data": rows})
