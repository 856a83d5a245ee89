"""The part of orjson that recordings use, for machines without it: slower, and for JSON types only."""

from __future__ import annotations

import json
import math
from typing import Any

OPT_INDENT_2 = 1
JSONDecodeError = json.JSONDecodeError


def dumps(value: Any, option: int = 0) -> bytes:
    """UTF-8 JSON without spaces, or indented. NaN and infinities become null."""
    spaces: dict[str, Any] = {"indent": 2} if option & OPT_INDENT_2 else {"separators": (",", ":")}
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, **spaces).encode()


def loads(text: str | bytes | bytearray | memoryview) -> Any:
    return json.loads(bytes(text) if isinstance(text, memoryview) else text)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value
