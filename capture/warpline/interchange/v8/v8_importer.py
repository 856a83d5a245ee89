"""Importer for CPU profiles of V8 (``.cpuprofile``): ``node --cpu-prof``, Chrome DevTools, Deno, VS Code.

The format is that of the DevTools protocol's ``Profiler.Profile``; files of Chrome before 58 nest their nodes in
``head`` and give ``timestamps``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import english
from warpline.interchange.framework.columns import nanoseconds
from warpline.interchange.framework.documents import Document, read_document
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.trace_json.target import TraceTarget
from warpline.interchange.trace_json.v8_profile import V8Profile
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_NODES = re.compile(rb'"(?:nodes|children)"\s*:\s*\[')
_FUNCTION = re.compile(rb'"functionName"\s*:')
_TIMES = re.compile(rb'"(?:hitCount|timeDeltas|timestamps|startTime)"\s*:')
_THREAD = ("JavaScript", "main thread")


class V8Importer:
    """One thread's samples."""

    name = "v8"
    title = english("V8 CPU profile (Chrome, Node.js)")
    patterns = ("*.cpuprofile",)
    position = 60

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        if (
            not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
            or b'"traceEvents"' in head[:4096]
        ):
            return NO
        return CERTAIN if all(mark.search(head) for mark in (_NODES, _FUNCTION, _TIMES)) else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        document = read_document(path, Document, cancelled)
        progress(0.7, path.name)
        target = TraceTarget(builder, options)
        profile = V8Profile()
        if isinstance(head := document.get("head"), dict):
            document["nodes"] = _flattened(head)
        if isinstance(times := document.get("timestamps"), list) and "timeDeltas" not in document:
            document["timeDeltas"] = _steps(times)
            document["startTime"] = 0
        profile.add(document, document)
        start, _missing = nanoseconds([document.get("startTime")])
        events = profile.add_to(target, _THREAD, int(start[0]))
        return target.summary(events)


def _flattened(head: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The nodes of a tree, each with the id of its parent."""
    nodes: list[dict[str, Any]] = []
    todo: list[tuple[Any, Any]] = [(head, None)]
    while todo:
        node, parent = todo.pop()
        if not isinstance(node, dict):
            continue
        children = node.get("children")
        nodes.append({**node, "children": None, "parent": parent})
        todo += [(child, node.get("id")) for child in children] if isinstance(children, list) else []
    return nodes


def _steps(times: list[Any]) -> list[Any]:
    good = [time if isinstance(time, int | float) else 0 for time in times]
    return [after - before for before, after in zip([0, *good], good, strict=False)]


importer = V8Importer()
