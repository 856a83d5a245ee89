"""Settings files of garbage: what a user's own editor, another version or a full disk may leave."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

from PySide6.QtCore import QByteArray, QRect, QSettings

_PATHS = ["x" * 5000, "\0", "é\u202e\ud800", "~nobody-of-this-name/x", "/proc/1/task/x", "/" + "n" * 300]
VALUES: list[Any] = [
    None, True, -1, 0, 5, 2**31, 2**62, 2**63, -(2**63), 10**30, 1e300, 0.5, float("nan"), "", "x", *_PATHS,
    [], {}, [[]], [{}], [1, 2], ["a"], {"a": {"b": []}},
]  # fmt: skip
"""In place of a value of JSON."""
TEXTS: list[Any] = [
    "", "[", "5", "null", "9" * 5000, "[" * 50_000, "{" * 5, '"x"', "[[1]]", "true", "x" * 100_000,
    QByteArray(b"\x00\xff" * 40), QRect(1, 2, 3, 4), 5, 0.5, True, ["a", "b"], {"a": 1},
]  # fmt: skip
"""In place of a whole entry."""


def _places(node: Any) -> list[tuple[Any, Any]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = []
    for key, value in items:
        found += [(node, key), *_places(value)]
    return found


def _odd_record(text: str, random: Random) -> str:
    """A JSON text with one to four of its values replaced."""
    value = json.loads(text)
    for _ in range(random.randint(1, 4)):
        places = _places(value)
        if places:
            node, key = random.choice(places)
            # A copy: else they are put into each other, in a circle at last.
            node[key] = copy.deepcopy(random.choice(VALUES))
    return json.dumps(value)


def spoil(settings: Path, seed: int) -> None:
    """Make garbage of a settings file: of what it holds, of some entries, or of the file."""
    random = Random(f"settings {seed}")
    if seed % 8 == 7:
        settings.unlink()
        if random.random() < 0.3:
            settings.mkdir()
        else:
            settings.write_bytes(random.randbytes(random.choice([0, 1, 50, 5000])))
        return
    store = QSettings(str(settings), QSettings.Format.IniFormat)
    for key in store.allKeys():
        value = store.value(key)
        if seed % 8 < 6 and isinstance(value, str) and value[:1] in ("[", "{"):
            store.setValue(key, _odd_record(value, random))
        elif random.random() < 0.5:
            store.setValue(key, random.choice(TEXTS))
    store.sync()


def remove(settings: Path) -> None:
    """Whatever lies there."""
    if settings.is_dir():
        shutil.rmtree(settings)
    else:
        settings.unlink(missing_ok=True)
