"""Apply a supplier price feed to the product catalogue."""
import csv
import io
import random
import re
import sqlite3

SKU_SHAPE = re.compile(r"^\s*([a-z]{3})[-_ ]?(\d{6})\s*$", re.I)


def open_catalog():
    db = sqlite3.connect(":memory:")
    db.executescript("""
        CREATE TABLE product (id INTEGER PRIMARY KEY, sku TEXT NOT NULL,
                              title TEXT, cents INTEGER, stock INTEGER);
        CREATE UNIQUE INDEX product_sku ON product(sku);
        CREATE TABLE price_change (product INTEGER, was INTEGER, now INTEGER);
        CREATE INDEX price_change_product ON price_change(product);
    """)
    rng = random.Random(8)
    rows = ((f"{rng.choice(('ABX', 'KLM', 'QRS'))}{i:06d}", f"Product {i} " + "x" * 60,
             rng.randrange(100, 9999), rng.randrange(50)) for i in range(25_000))
    db.executemany("INSERT INTO product(sku, title, cents, stock) VALUES (?, ?, ?, ?)", rows)
    db.commit()
    return db


def supplier_feed(db, count):
    rng = random.Random(9)
    skus = [row[0] for row in db.execute("SELECT sku FROM product")]
    out = io.StringIO()
    writer = csv.writer(out)
    for sku in rng.sample(skus, count):
        shown = sku.lower() if rng.random() < 0.5 else f" {sku[:3]}-{sku[3:]}"
        writer.writerow([shown, rng.randrange(100, 9999), rng.randrange(3)])
    out.seek(0)
    return csv.reader(out)


def clean_sku(text):
    match = SKU_SHAPE.match(text)
    if not match:
        raise ValueError(f"odd sku {text!r}")
    return (match[1] + match[2]).upper()


class Sync:
    def __init__(self, db):
        self.db = db
        self.changed = self.unknown = self.odd = 0

    def find(self, sku):
        cursor = self.db.execute(
            "SELECT id, cents, stock FROM product WHERE upper(sku) = ?", (sku,))
        return cursor.fetchone()

    def apply(self, product, cents, delta):
        ident, was, stock = product
        if cents != was:
            self.db.execute("INSERT INTO price_change VALUES (?, ?, ?)", (ident, was, cents))
            self.changed += 1
        self.db.execute("UPDATE product SET cents = ?, stock = ? WHERE id = ?",
                        (cents, stock + delta, ident))

    def run(self, feed):
        with self.db:
            for sku, cents, delta in feed:
                try:
                    product = self.find(clean_sku(sku))
                except ValueError:
                    self.odd += 1
                    continue
                if product is None:
                    self.unknown += 1
                else:
                    self.apply(product, int(cents), int(delta))


def main():
    db = open_catalog()
    sync = Sync(db)
    sync.run(supplier_feed(db, 900))
    total, = db.execute("SELECT sum(cents * stock) FROM product").fetchone()
    print(sync.changed, sync.unknown, sync.odd, total)


if __name__ == "__main__":
    main()
