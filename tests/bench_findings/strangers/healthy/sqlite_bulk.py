"""Load a table in one transaction, index it, and run reports on it."""
import random
import sqlite3


def rows(n):
    rng = random.Random(3)
    for i in range(n):
        yield i, rng.randrange(2000), rng.randrange(1, 5000)


def main():
    db = sqlite3.connect(":memory:")
    db.execute("create table sale (id integer primary key, customer integer, cents integer)")
    with db:
        db.executemany("insert into sale values (?, ?, ?)", rows(600_000))
        db.execute("create index sale_customer on sale (customer, cents)")
    best = db.execute(
        "select customer, sum(cents) total from sale group by customer order by total desc limit 3"
    ).fetchall()
    spread = 0
    for customer in range(2000):
        low, high = db.execute(
            "select min(cents), max(cents) from sale where customer = ?", (customer,)).fetchone()
        spread += high - low
    print(best, spread)


if __name__ == "__main__":
    main()
