"""Writes `meta`, the JSON description of a capture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import orjson

from warpline.i18n.message import message_table, messages_in
from warpline.storage.columns.stored_text import utf8
from warpline.storage.write.builder_contents import BuilderContents
from warpline.storage.write.outputs import Datasets


def write_meta(out: Datasets, contents: BuilderContents, span: tuple[int, int]) -> None:
    """Writes the description of a capture that spans ``span``, capture time in ns."""
    document: dict[str, Any] = {
        "span_ns": list(span),
        "sources": [vars(source) for source in contents.sources],
        "skipped": [vars(entry) for entry in contents.skipped],
        "warnings": list(contents.warnings),
        "pauses_ns": [list(pause) for pause in contents.pauses],
        "processes": [vars(process) for process in contents.processes],
        "threads": [vars(thread) for thread in contents.threads],
        "devices": [vars(device) for device in contents.devices],
        "meta": contents.meta,
    }
    titles = [track.title for track in contents.tracks]
    messages = dict.fromkeys(messages_in([document, titles, contents.strings.messages]))
    if messages:
        document["messages"] = message_table(messages)
    data = orjson.dumps(_plain(document))
    out.put(out.file, "meta", np.frombuffer(data, np.uint8), "|u1")


def _plain(value: Any) -> Any:
    """A description in JSON's types; other values become text."""
    if isinstance(value, str):
        return utf8(value).decode()
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int | np.integer):
        return int(value) if -(1 << 63) <= value < 1 << 64 else str(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, Mapping):
        return {utf8(str(key)).decode(): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Iterable):
        return [_plain(entry) for entry in value]
    return utf8(str(value)).decode()
