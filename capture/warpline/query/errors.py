"""What is wrong with a query, in one line that says where: DuckDB's errors in Warpline's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from warpline.analysis.framework.not_recorded import NOT_RECORDED, of_import
from warpline.i18n import tr, translated
from warpline.model import BUILTIN_KINDS_BY_NAME
from warpline.query.catalog import Catalog
from warpline.query.guard import words_of
from warpline.query.rewriting import Rewritten

if TYPE_CHECKING:
    import duckdb

    from warpline.storage import Capture

_SUBJECTS = {
    "memcpy": "memory_operations", "memset": "memory_operations", "graph": "gpu", "sync": "gpu", "gpu_event": "gpu",
    "gpu_annotation": "gpu", "sample": "samples", "cpu_sample": "samples", "release": "osrt", "call_count": "osrt",
    "waits": "wait", "launches": "launch",
}  # fmt: skip
"""What else must be recorded for a table that is not called like it."""
_MORE = re.compile(
    r"\s*(Candidate \w+:|Did you mean|LINE \d+:|Possible solutions:|Use \"?SET ).*",
    re.DOTALL,
)
_FILES = re.compile(
    r"file system|external access|LocalFileSystem|disabled (by|through) configuration", re.IGNORECASE
)


def explained(
    error: duckdb.Error, asked: Rewritten, offset: int, catalogs: Sequence[Catalog]
) -> dict[str, Any]:
    """The answer of the worker for an error of DuckDB.

    ``offset`` is the place, in bytes, of the query in what DuckDB was given.
    """
    _, _, text = str(error).partition(": ")
    try:
        facts = json.loads(text)
    except ValueError:
        facts = {"exception_message": text or str(error)}
    if facts.get("exception_type") == "Out of Memory" or "bad_alloc" in str(error):
        return {"failed": "", "kind": "memory"}
    place = _place(facts, asked, offset)
    message, kind = _message(facts, asked.sql, catalogs)
    if place is None:
        return {"failed": message, "kind": kind}
    line, column = place
    failed = tr("line {line}, column {column}: {message}", line=line, column=column, message=message)
    return {"failed": failed, "kind": kind, "line": line, "column": column}


def _place(facts: Mapping[str, Any], asked: Rewritten, offset: int) -> tuple[int, int] | None:
    """Line and column, from 1, in the query. DuckDB counts bytes."""
    try:
        return asked.place(int(facts["position"]) - offset)
    except (KeyError, TypeError, ValueError):
        return None


def _message(facts: Mapping[str, Any], sql: str, catalogs: Sequence[Catalog]) -> tuple[str, str]:
    name = str(facts.get("name", ""))
    subtype = facts.get("error_subtype")
    message = str(facts.get("exception_message", ""))
    if subtype == "COLUMN_NOT_FOUND" and name:
        return _no_column(name, facts, sql, catalogs)
    if subtype == "MISSING_ENTRY" and facts.get("type") == "Table":
        return _no_table(name, catalogs)
    if subtype == "MISSING_ENTRY" and name:
        near = _near(name, _names(facts.get("candidates", "")))
        if name.casefold() == "extract_arg":
            near = "; " + tr("what Perfetto keeps as arguments are columns of the tables of each kind")
        return tr("no function {name}()", name=name) + near, "usage"
    if _FILES.search(message):
        return tr("a query reads the capture; it reaches no files, networks, extensions or settings"), "usage"
    return " ".join(_MORE.sub("", message).split()), "usage"


def _no_column(name: str, facts: Mapping[str, Any], sql: str, catalogs: Sequence[Catalog]) -> tuple[str, str]:
    bare = name.rpartition(".")[2].strip('"')
    words = words_of(sql)
    for catalog in catalogs:
        for kind, table in catalog.capture.kinds.items():
            known = BUILTIN_KINDS_BY_NAME.get(kind)
            attributes = () if known is None else (spec.name for spec in known.attributes)
            if kind in words and bare in attributes and bare not in table.attributes:
                said = tr("{column} of {kind} was not recorded", column=bare, kind=kind)
                remedy = NOT_RECORDED["wait"].remedy if bare == "wait" else ""
                return f"{said}: {translated(remedy)}" if remedy else said, "not recorded"
    near = _near(bare, _names(facts.get("candidates", "")))
    if bare.casefold() == "utid":
        near = "; " + tr("it is thread_id of tracks: JOIN tracks t ON t.id = track_id")
    if not near and bare.casefold() in _OF_TRACKS:
        near = "; " + tr("{name} is a column of tracks: JOIN tracks t ON t.id = track_id", name=bare)
    return tr('no column "{name}"', name=bare) + near, "usage"


_OF_TRACKS = frozenset(
    ("device", "stream", "context", "pid", "tid", "rank", "uri", "track", "thread_id", "process_id")
)


def _no_table(name: str, catalogs: Sequence[Catalog]) -> tuple[str, str]:
    bare = name.rpartition(".")[2].strip('"').casefold()
    if bare in BUILTIN_KINDS_BY_NAME or bare in _SUBJECTS:
        return not_recorded(bare, catalogs[0].capture), "not recorded"
    known = [name for catalog in catalogs for name in catalog.names] + list(BUILTIN_KINDS_BY_NAME)
    near = _near(bare, known)
    return tr('no table "{name}"', name=name) + (
        near or "; " + tr("warpline query --schema lists them")
    ), "usage"


def not_recorded(kind: str, capture: Capture) -> str:
    """Why a capture has no events of a kind, and how to record them."""
    answer = NOT_RECORDED.get(_SUBJECTS.get(kind, kind))
    if answer is None:
        return tr("events of the kind {kind} were not recorded", kind=kind)
    return tr("{kind}: not recorded: {reason}", kind=kind, reason=translated(str(of_import(answer, capture))))


def _near(name: str, known: Iterable[str]) -> str:
    by_fold = {entry.casefold(): entry for entry in known}
    near = get_close_matches(name.casefold(), by_fold, n=1)
    return "; " + tr('did you mean "{near}"?', near=by_fold[near[0]]) if near else ""


def _names(candidates: str) -> list[str]:
    """Names in DuckDB's list of candidates."""
    return [part.strip().strip('"').rpartition(".")[2] for part in str(candidates).split(",")]
