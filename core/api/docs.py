"""The API's own page: what can be called, without a script or a font from anywhere else."""

from html import escape
from typing import Any

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>APX API</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}
code{{font:14px ui-monospace,monospace}}td{{padding:.25rem .75rem .25rem 0;vertical-align:top}}
@media(prefers-color-scheme:dark){{body{{background:#16181d;color:#e8e8ea}}a{{color:#9ecbff}}}}</style>
<h1>APX API {version}</h1><p>Every call but <code>/api/health</code> carries
<code>Authorization: Bearer TOKEN</code>. The whole description: <a href="/api/openapi.json">openapi.json</a>.</p>
<table>{rows}</table></html>"""
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}


def page(schema: dict[str, Any]) -> str:
    """The page of an OpenAPI description."""
    rows = [
        f"<tr><td><code>{method.upper()}</code><td><code>{escape(path)}</code><td>{escape(call.get('description', ''))}"
        for path, calls in schema["paths"].items()
        for method, call in calls.items()
    ]
    return _PAGE.format(version=escape(schema["info"]["version"]), rows="\n".join(rows))
