"""Answer caller-id requests from a table of subscribers."""
import random
import sqlite3

SUBSCRIBERS = 60_000


def load():
    db = sqlite3.connect(":memory:")
    db.execute("create table subscriber (number text, name text, town text)")
    rng = random.Random(6)
    db.executemany(
        "insert into subscriber values (?, ?, ?)",
        ((f"+49{i * 7919 % 10**9:09d}", f"name{i}", f"town{rng.randrange(500)}")
         for i in range(SUBSCRIBERS)),
    )
    db.commit()
    return db


def caller(db, number):
    row = db.execute("select name, town from subscriber where number = ?", (number,)).fetchone()
    return row or ("unknown", "")


def main():
    db = load()
    rng = random.Random(12)
    letters = 0
    for _ in range(700):
        i = rng.randrange(SUBSCRIBERS)
        name, town = caller(db, f"+49{i * 7919 % 10**9:09d}")
        letters += len(name) + len(town)
    print(letters)


if __name__ == "__main__":
    main()
