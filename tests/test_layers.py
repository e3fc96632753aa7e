"""The architecture as a test: the tables are the rule."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("core", "bridge", "desktop")
LAYERS = [  # each may import what stands above it, and itself; the longest name that fits decides
    {"core.errors", "core.paths", "core.texts", "core.watched"},
    {
        "core.config", "core.config_lines", "core.settings", "core.events", "core.store", "core.identity",
        "core.vault", "core.delivery", "core.filetypes", "core.outbox", "core.message", "core.lane", "core.icons",
        "core.log", "core.watchdog", "core.protected", "core.neutral", "core.runs.turn",
    },
    {"core.tool"},
    {
        "core.alerts", "core.memory", "core.memory_broker", "core.memory_index", "core.memory_vectors", "core.notebook",
        "core.sessions", "core.skills", "core.tasks", "core.projects", "core.agents", "core.mcp_servers",
        "core.mcp_pipe", "core.rooms",
    },
    {"core.runs"},
    {"core.tools", "core.channels"},
    {"core.app"},
    {"core.api", "core.cli"},
    {"bridge"},
    {"desktop"},
]  # fmt: skip
ONLY_IN = {
    "litellm": ("core/runs/llm_worker.py",),
    "aiosqlite": ("core/store.py",),
    "telegram": ("core/channels/telegram",),
    "ppadb": ("bridge/adb.py",),
    "adbutils": ("bridge/program.py",),
    "qasync": ("desktop/",),
    "PySide6": ("desktop/",),
    "keyring": ("core/vault.py",),
    "cryptography": ("core/vault.py",),
    "markdown_it": ("desktop/",),
    "mcp": ("core/mcp_",),
    "mcp_types": ("core/mcp_",),
    "httpx2": ("core/mcp_",),
    "playwright": ("core/tools/browser.py", "core/tools/tab.py"),
    "bridge": ("bridge/", "desktop/main.py"),
    "fastapi": ("core/api/", "bridge/routes.py", "bridge/contact_routes.py"),
}
MAX_LINES = 400


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that only the type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from at_run_time(node)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    for node in at_run_time(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def row(module: str) -> int | None:
    fits = [
        (len(name), n)
        for n, layer in enumerate(LAYERS)
        for name in layer
        if f"{module}.".startswith(f"{name}.")
    ]
    return max(fits)[1] if fits else None


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_only_go_down(path: Path) -> None:
    mine = row(name_of(path))
    for imported in imports(path):
        if imported.split(".")[0] in PACKAGES and mine is not None:
            other = row(imported)
            assert other is None or other <= mine, (
                f"{name_of(path)} imports {imported}, which stands above it"
            )


def test_every_module_has_its_row() -> None:
    lost = [name_of(path) for path in modules() if row(name_of(path)) is None and path.name != "__init__.py"]
    assert lost == []


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_each_library_has_one_home(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    for imported in imports(path):
        homes = ONLY_IN.get(imported.split(".")[0])
        assert homes is None or place.startswith(homes), (
            f"{place} imports {imported}; its home is {', '.join(homes)}"
        )


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_is_short_and_says_why_it_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert not text.strip() or ast.get_docstring(tree(path))


def test_channels_and_tools_do_not_know_each_other() -> None:
    for path in modules():
        mine = name_of(path)
        for one, other in (("core.tools", "core.channels"), ("core.channels", "core.tools")):
            if mine.startswith(one):
                assert not any(imported.startswith(other) for imported in imports(path)), mine


def test_packaging_is_no_python_package() -> None:
    assert not (ROOT / "packaging" / "__init__.py").exists()
