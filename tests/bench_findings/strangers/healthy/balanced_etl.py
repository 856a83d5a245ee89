"""Parse meter logs with two worker processes and load them into sqlite in bulk."""
import multiprocessing as mp
import os
import sqlite3
import tempfile
from collections import defaultdict

FILES = 160
LINES = 14_400
WORKERS = 2


def write_logs(folder):
    days = [
        "".join(
            f"{n:05d};meter={(n * 31 + day) % 60};kwh={(n * 7919 + day) % 4000 / 100:.2f};st=OK\n"
            for n in range(LINES)
        )
        for day in range(7)
    ]
    paths = []
    for number in range(FILES):
        path = os.path.join(folder, f"meter-{number:03d}.log")
        with open(path, "w", encoding="ascii") as out:
            out.write(days[number % 7])
        paths.append(path)
    return paths


def parse_line(line):
    tick, meter, kwh, _ = line.split(";")
    return int(meter[6:]), int(tick) // 600, float(kwh[4:])


def digest(path):
    """Per meter and hour: count, sum and peak. Only the aggregate leaves the worker."""
    cells = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            meter, hour, kwh = parse_line(line)
            cell = cells.get((meter, hour))
            if cell is None:
                cells[meter, hour] = [1, kwh, kwh]
            else:
                cell[0] += 1
                cell[1] += kwh
                if kwh > cell[2]:
                    cell[2] = kwh
    name = os.path.basename(path)
    return [(name, meter, hour, *cell) for (meter, hour), cell in cells.items()]


def open_store(path):
    db = sqlite3.connect(path)
    db.execute(
        "CREATE TABLE usage (source TEXT, meter INT, hour INT, n INT, kwh REAL, peak REAL)"
    )
    return db


def load(db, batches):
    rows = 0
    with db:
        for batch in batches:
            db.executemany("INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?)", batch)
            rows += len(batch)
    return rows


def report(db):
    query = "SELECT hour, sum(n), sum(kwh), max(peak) FROM usage GROUP BY hour ORDER BY hour"
    bands = defaultdict(float)
    for hour, count, kwh, peak in db.execute(query):
        bands["night" if hour < 7 or hour > 21 else "day"] += kwh
    top = db.execute(
        "SELECT meter, sum(kwh) AS total FROM usage GROUP BY meter ORDER BY total DESC LIMIT 3"
    ).fetchall()
    return dict(bands), top


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = write_logs(folder)
        db = open_store(os.path.join(folder, "usage.db"))
        with mp.Pool(WORKERS) as pool:
            rows = load(db, pool.imap_unordered(digest, paths))
        bands, top = report(db)
        db.close()
    print("rows", rows)
    print({name: round(kwh, 1) for name, kwh in sorted(bands.items())})
    print([(meter, round(total, 1)) for meter, total in top])


if __name__ == "__main__":
    main()
