"""Match bank statements against open payments and book the differences."""
import random
import sqlite3

SCHEMA = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE payment (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer(id),
    reference TEXT NOT NULL,
    cents INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'open'
);
CREATE TABLE booking (
    payment_id INTEGER PRIMARY KEY REFERENCES payment(id),
    difference INTEGER NOT NULL
);
CREATE INDEX payment_customer ON payment(customer_id);
"""


def reference(rng):
    return "RF%02d-%010d" % (rng.randrange(100), rng.randrange(10 ** 10))


def build(connection, rng, customers, payments):
    connection.executescript(SCHEMA)
    with connection:
        connection.executemany(
            "INSERT INTO customer VALUES (?, ?)",
            ((n, "Customer %d" % n) for n in range(customers)))
        connection.executemany(
            "INSERT INTO payment (customer_id, reference, cents) VALUES (?, ?, ?)",
            ((rng.randrange(customers), reference(rng),
              rng.randrange(100, 500000)) for _ in range(payments)))


def statement(connection, rng, count):
    """What the bank reports: mostly right, some paid a little off."""
    rows = connection.execute("SELECT reference, cents FROM payment").fetchall()
    lines = []
    for ref, cents in rng.sample(rows, count):
        if rng.random() < 0.2:
            cents += rng.choice((-150, -20, 35, 500))
        lines.append((ref, cents))
    for _ in range(count // 20):
        lines.append(("XX" + reference(rng), rng.randrange(1000)))
    rng.shuffle(lines)
    return lines


def find_open(connection, ref):
    return connection.execute(
        "SELECT p.id, p.cents, c.name FROM payment p "
        "JOIN customer c ON c.id = p.customer_id "
        "WHERE p.reference = ? AND p.state = 'open'", (ref,)).fetchone()


def book(connection, payment_id, difference):
    connection.execute(
        "UPDATE payment SET state = 'paid' WHERE id = ?", (payment_id,))
    connection.execute(
        "INSERT INTO booking VALUES (?, ?)", (payment_id, difference))


def match(connection, lines):
    unknown = []
    names = set()
    with connection:
        for ref, cents in lines:
            found = find_open(connection, ref)
            if found is None:
                unknown.append((ref, cents))
                continue
            payment_id, due, name = found
            names.add(name)
            book(connection, payment_id, cents - due)
    return unknown, names


def main():
    rng = random.Random(5)
    connection = sqlite3.connect(":memory:")
    build(connection, rng, 900, 24000)
    lines = statement(connection, rng, 1300)
    unknown, names = match(connection, lines)
    booked, off, total = connection.execute(
        "SELECT count(*), sum(difference <> 0), sum(difference) "
        "FROM booking").fetchone()
    assert booked == 1300 and len(unknown) == 65
    assert all(ref.startswith("XX") for ref, _ in unknown)
    print("booked", booked, "off", off, "by", total, "customers", len(names))


if __name__ == "__main__":
    main()
