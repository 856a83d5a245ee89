"""Databases of other profilers in which a column holds values of another type: read, or refused in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.fuzz.guided import formats

from warpline.model import WarplineError

_VALUES = (1.5, b"\xff\x00")


def changed(seed: bytes) -> Iterator[tuple[str, bytes]]:
    """The database with each column full of each value, and what it is."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(seed)
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = [
            (table, row[1]) for table in tables for row in database.execute(f'PRAGMA table_info("{table}")')
        ]
    for table, column in columns:
        for value in _VALUES:
            with closing(sqlite3.connect(":memory:")) as database:
                database.deserialize(seed)
                database.execute(f'UPDATE "{table}" SET "{column}" = ?', (value,))
                database.commit()
                yield f"{table}.{column} = {value!r}", database.serialize()


@pytest.mark.parametrize("name", ["ascend-db", "rpd", "rocpd", "rocprof-v1"])
def test_a_column_of_another_type_is_read_or_refused(name: str) -> None:
    target = next(target for target in formats.TARGETS if target.name == name)
    (seed,) = target.seeds(None)
    contents = list(changed(seed))
    assert len(contents) > 40
    for what, content in contents:
        try:
            target.run(content)
        except WarplineError as error:
            message = str(error)
        except Exception as error:
            raise AssertionError(what) from error
        else:
            message = ""
        assert "\n" not in message, what
