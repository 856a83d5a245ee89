"""Nightly export of the orders table to a partner's fixed-size pages."""
import csv
import hashlib
import io
import os
import sqlite3
import tempfile
from collections import defaultdict

ORDERS = 230_000
PAGE = 250
STATES = ("new", "paid", "packed", "sent", "returned")


def order_rows(count):
    for n in range(1, count + 1):
        yield n * 3, f"cust-{n * 7919 % 20011}", STATES[n % 5], (n * 104729) % 90_000


def prepare(path):
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous=OFF")
    db.execute(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, state TEXT, cents INTEGER)"
    )
    with db:
        db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", order_rows(ORDERS))
    return db


class PageReader:
    def __init__(self, db, size):
        self.db = db
        self.size = size
        self.start = 0

    def next_page(self):
        rows = self.db.execute(
            "SELECT id, customer, state, cents FROM orders ORDER BY id LIMIT ? OFFSET ?",
            (self.size, self.start),
        ).fetchall()
        self.start += len(rows)
        return rows


class PartnerFile:
    """Pages with a checksum line each, as the partner's loader wants them."""

    def __init__(self, path):
        self.out = open(path, "w", encoding="ascii", newline="")
        self.pages = 0

    def add(self, rows):
        buffer = io.StringIO()
        csv.writer(buffer).writerows(rows)
        text = buffer.getvalue()
        digest = hashlib.md5(text.encode()).hexdigest()
        self.out.write(text)
        self.out.write(f"#page {self.pages} {digest}\r\n")
        self.pages += 1

    def close(self):
        self.out.close()


def tally(totals, rows):
    for _, _, state, cents in rows:
        entry = totals[state]
        entry[0] += 1
        entry[1] += cents


def export(db, target):
    reader = PageReader(db, PAGE)
    partner = PartnerFile(target)
    totals = defaultdict(lambda: [0, 0])
    while rows := reader.next_page():
        partner.add(rows)
        tally(totals, rows)
    partner.close()
    return partner.pages, totals


def main():
    with tempfile.TemporaryDirectory() as folder:
        db = prepare(os.path.join(folder, "shop.db"))
        pages, totals = export(db, os.path.join(folder, "partner.csv"))
        db.close()
    print("pages", pages)
    for state, (count, cents) in sorted(totals.items()):
        print(f"{state:9s} {count:7d} {cents / 100:14.2f}")
    assert sum(c for c, _ in totals.values()) == ORDERS


if __name__ == "__main__":
    main()
