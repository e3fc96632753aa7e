"""Kept files over HTTP: a picture that is to come with a question, and any file by its id."""

import asyncio

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import FileResponse, Response

from core.api.request import Apx, reply
from core.errors import NotFound
from core.runs import pictures

router = APIRouter(prefix="/api/media", tags=["media"])


class Upload(BaseModel):
    """A picture as Base64. Its name is what people call it; what it is, its bytes say."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field("", max_length=500)
    data: str = Field(min_length=1)


@router.post("")
async def keep(upload: Upload, app: Apx) -> Response:
    """Keep a picture; its `media_id` goes into the `attachments` of a question."""
    lang = app.identity.language
    data = await asyncio.to_thread(pictures.decoded, upload.data, upload.name, lang)
    picture = await asyncio.to_thread(pictures.checked, upload.name, data, lang)
    kept = await pictures.keep(app.store, app.home, picture)
    return reply({"media_id": kept.media_id, "name": kept.name, "mime": kept.mime, "size": kept.size}, 201)


@router.get("/{media_id}")
async def one(media_id: str, app: Apx) -> Response:
    """A kept file, by id alone. Only pictures, sound and film are shown in place."""
    row = await app.store.one("select path, name, kind, mime from media where id = ?", media_id)
    if row is None:
        raise NotFound("There is no such file.")
    root = app.home.media.resolve()
    path = (root / row["path"]).resolve()
    if not path.is_relative_to(root) or not path.is_file():
        raise NotFound("There is no such file.")
    # An SVG is a picture that can run scripts.
    safe = row["mime"].partition("/")[0] in {"image", "audio", "video"} and "svg" not in row["mime"]
    return FileResponse(
        path,
        media_type=row["mime"] if safe else "application/octet-stream",
        filename=row["name"],
        content_disposition_type="inline" if safe else "attachment",
        headers={
            "x-content-type-options": "nosniff",
            "content-security-policy": "sandbox; default-src 'none'",
            "cache-control": "private, max-age=3600",
        },
    )
