"""The faces an identity may have. The drawings are files; here is what every surface may know of them without Qt."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.paths import ASSETS

FOLDER: Final = ASSETS / "blobs"
DEFAULT: Final = "noche"


@dataclass(frozen=True, slots=True)
class Eyes:
    """Two rounded bars in the units of the drawing's square box."""

    color: str
    left: tuple[float, float]
    right: tuple[float, float]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Icon:
    """One face: a body drawn in a file, and eyes kept apart so that they can look, blink and smile."""

    key: str
    body: Path
    eyes: Eyes
    names: dict[str, str]


def _read(path: Path) -> tuple[float, dict[str, Icon]]:
    sheet = json.loads(path.read_text(encoding="utf-8"))
    icons = {}
    for row in sheet["blobs"]:
        eyes = row["eyes"]
        icons[row["key"]] = Icon(
            key=row["key"],
            body=path.parent / row["body"],
            eyes=Eyes(eyes["color"], tuple(eyes["left"]), tuple(eyes["right"]), eyes["w"], eyes["h"]),
            names={"en": row["en"], "es": row["es"]},
        )
    return float(sheet["box"]), icons


BOX, _CATALOG = _read(FOLDER / "catalog.json")
ICONS: Final[tuple[str, ...]] = tuple(_CATALOG)


def find(key: str) -> Icon:
    """The face of that name. A name from a newer or older catalogue shows the default instead of nothing."""
    return _CATALOG.get(key) or _CATALOG[DEFAULT]


def label(key: str, lang: str) -> str:
    """What people call that face; Spanish unless the language is English."""
    return find(key).names["en" if lang.startswith("en") else "es"]
