"""Works with a database in memory."""

import sqlite3

database = sqlite3.connect(":memory:")
database.execute("create table numbers (value integer)")
database.executemany("insert into numbers values (?)", ((n,) for n in range(300_000)))
for _ in range(10):
    database.execute("select sum(value * value % 7) from numbers").fetchall()
