"""Nsight SQLite exports with hostile schemas, wrong types and damaged pages."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

VALUES = (
    "NULL",
    "-1",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "9e999",
    "'text'",
    "x'ff00ff'",
    "''",
    "'9999999999999999999'",
    "0.5",
    "zeroblob(70000)",
    "char(0)",
    "hex(randomblob(3000))",
    "'<script>'",
    "1e18",
    "4611686018427387905",
)
SQL_SCHEMA = (
    'ALTER TABLE "{t}" RENAME COLUMN "{c}" TO "{d}"',
    'ALTER TABLE "{t}" ADD COLUMN "zz" BLOB DEFAULT x\'00ff\'',
    'DROP TABLE "{t}"',
    'ALTER TABLE "{t}" RENAME TO "{t}_old"; CREATE VIEW "{t}" AS SELECT * FROM "{t}_old"',
    'ALTER TABLE "{t}" RENAME TO "{t}_old"; CREATE TABLE "{t}" ("{c}" TEXT PRIMARY KEY) WITHOUT ROWID',
    'ALTER TABLE "{t}" RENAME TO "{t}_old"; CREATE TABLE "{t}" AS SELECT * FROM "{t}_old", (SELECT 1 UNION SELECT 2)',
    "CREATE TRIGGER tr AFTER INSERT ON \"{t}\" BEGIN SELECT load_extension('x'); END",
    'CREATE INDEX ix ON "{t}"("{c}" DESC)',
    'CREATE TABLE "we""ird \'; DROP" (a)',
    'DELETE FROM "{t}"',
    'CREATE TABLE "{t}_copy" AS SELECT * FROM "{t}"',
    'DELETE FROM "{t}" WHERE rowid % 2',
    'UPDATE "{t}" SET rowid = -rowid',
    "CREATE VIRTUAL TABLE fts USING fts5(a,b)",
)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def mutate(seed: Path, target: Path, rng: random.Random) -> str:
    """Write a hostile copy; returns what was done."""
    shutil.copy(seed, target)
    if rng.random() < 0.3:
        data = bytearray(target.read_bytes())
        for _ in range(rng.choice([1, 3, 20, 100])):
            reach = len(data) if rng.random() < 0.5 else min(len(data), 8192)
            data[rng.randrange(reach)] = rng.randrange(256)
        if rng.random() < 0.15:
            del data[rng.randrange(len(data)) :]
        target.write_bytes(data)
        return "bytes"
    done = []
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        with suppress(sqlite3.Error):
            db.execute("PRAGMA journal_mode=DELETE")
        for _ in range(rng.randint(1, 5)):
            tables = [
                name
                for (name,) in db.execute(
                    "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'"
                )
            ]
            if not tables:
                break
            filled = []
            for name in tables:
                with suppress(sqlite3.Error):
                    if db.execute(f"SELECT 1 FROM {_quoted(name)} LIMIT 1").fetchone():
                        filled.append(name)
            table = rng.choice(filled or tables)
            with suppress(sqlite3.Error):
                columns = [row[1] for row in db.execute(f"PRAGMA table_info({_quoted(table)})")]
                if rng.random() < 0.7 and columns:
                    column = rng.choice(columns)
                    where = rng.choice(["", f" WHERE rowid % {rng.randint(2, 50)} = 1", " WHERE rowid = 1"])
                    db.execute(f'UPDATE "{table}" SET "{column}" = {rng.choice(VALUES)}{where}')
                    done.append("value")
                else:
                    sql = rng.choice(SQL_SCHEMA).format(
                        t=table, c=rng.choice(columns or ["x"]), d=rng.choice([*columns, "new", "start"])
                    )
                    db.executescript(sql)
                    done.append("schema")
    if rng.random() < 0.1:
        Path(f"{target}-wal").write_bytes(random.Random(1).randbytes(5000))
        Path(f"{target}-journal").write_bytes(random.Random(2).randbytes(5000))
        done.append("beside")
    return "+".join(sorted(set(done))) or "none"
