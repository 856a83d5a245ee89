"""The tables of Firefox profiles, of both formats, as lists by column.

*Gecko* profiles, which Firefox writes, have rows and a ``schema`` of column numbers. *Processed* ones, of
profiler.firefox.com and samply, have columns. Newer processed profiles hold tables of all threads in ``shared``.
https://github.com/firefox-devtools/profiler/tree/main/docs-developer
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warpline.interchange.framework.columns import MAX_TIME_NS, Int64Array, clean_text, floats, integers


class ProfileTable:
    """A table of a thread."""

    def __init__(self, content: Any) -> None:
        self._content: Mapping[str, Any] = content if isinstance(content, dict) else {}
        data = self._content.get("data")
        schema = self._content.get("schema")
        self._rows = data if isinstance(data, list) and isinstance(schema, dict) else None
        self._schema = schema if isinstance(schema, dict) else {}

    def column(self, name: str) -> list[Any] | None:
        """A column; None if there is none."""
        if self._rows is None:
            values = self._content.get(name)
            return values if isinstance(values, list) else None
        place = self._schema.get(name)
        if not isinstance(place, int) or place < 0:
            return None
        return [row[place] if isinstance(row, list) and place < len(row) else None for row in self._rows]

    def indexes(self, name: str, count: int | None = None) -> Int64Array:
        """A column of indexes; -1 where missing. Without the column, ``count`` missing values."""
        values = self.column(name)
        if values is None:
            return np.full(count or 0, -1, np.int64)
        return np.ma.filled(integers(values), -1).astype(np.int64)

    def times(self, name: str) -> Int64Array | None:
        """A column of milliseconds as ns; a missing or impossible time is `NO_TIME`."""
        values = self.column(name)
        if values is None:
            return None
        ms = np.asarray(np.ma.filled(floats(values), np.nan), np.float64)
        usable = np.abs(ms) < MAX_TIME_NS / 1e6
        return np.where(usable, np.rint(np.where(usable, ms, 0) * 1e6).astype(np.int64), NO_TIME)


NO_TIME = MAX_TIME_NS + 1
"""A time that is skipped and counted where events are added."""


def fitted(column: Int64Array, count: int, missing: int) -> Int64Array:
    """The column with ``count`` values: cut, or filled up with ``missing`` ones."""
    return np.append(column[:count], np.full(max(count - len(column), 0), missing, np.int64))


class ThreadTables:
    """The tables and strings of a thread."""

    def __init__(self, thread: Mapping[str, Any], shared: Any) -> None:
        self._thread = thread
        self._shared: Mapping[str, Any] = shared if isinstance(shared, dict) else {}
        strings = self._either("stringArray", "stringTable")
        if isinstance(strings, dict):
            strings = strings.get("_array")
        self._strings: list[Any] = strings if isinstance(strings, list) else []

    def _either(self, *names: str) -> Any:
        for holder in (self._thread, self._shared):
            for name in names:
                if holder.get(name) is not None:
                    return holder[name]
        return None

    def table(self, name: str) -> ProfileTable:
        """A table of the thread, or one that all threads share."""
        return ProfileTable(self._either(name))

    def text(self, index: int) -> str:
        """A string of the thread; "" for none."""
        return clean_text(str(self._strings[index])) if 0 <= index < len(self._strings) else ""

    def frames(self) -> list[str]:
        """Each frame as text: ``f (file.js:3)``, ``malloc [libc.so.6]``."""
        table, functions, resources = map(self.table, ("frameTable", "funcTable", "resourceTable"))
        lines = table.indexes("line")
        if (locations := table.column("location")) is not None:
            return [self.text(index) for index in table.indexes("location", len(locations)).tolist()]
        frames = table.indexes("func")
        names, files = functions.indexes("name"), functions.indexes("fileName")
        begins, resource = functions.indexes("lineNumber"), functions.indexes("resource")
        libraries = resources.indexes("name")
        texts: dict[tuple[int, int], str] = {}
        result: list[str] = []
        for place, function in enumerate(frames.tolist()):
            line = _at(lines, place)
            key = (function, line)
            if key not in texts:
                name, file = self.text(_at(names, function)), self.text(_at(files, function))
                library = self.text(_at(libraries, _at(resource, function)))
                line = line if line > 0 else _at(begins, function)
                texts[key] = _frame(name, file, line, library)
            result.append(texts[key])
        return result


def _at(column: Int64Array, index: int) -> int:
    return int(column[index]) if 0 <= index < len(column) else -1


def _frame(name: str, file: str, line: int, library: str) -> str:
    if file:
        return f"{name} ({file}:{line})" if line > 0 else f"{name} ({file})"
    return f"{name} [{library}]" if library and library != name else name
