"""Load a live feed, which arrives at the meter's own pace, into sqlite by batches."""
import queue
import sqlite3
import subprocess
import sys
import threading

METER = r"""
import random, sys, time
rng = random.Random(6)
start = time.monotonic()
for burst in range(30):
    for i in range(40):
        sys.stdout.write(f"{burst},{i},{rng.gauss(230, 4):.3f}\n")
    sys.stdout.flush()
    time.sleep(max(0, start + (burst + 1) * 0.1 - time.monotonic()))
"""


def reader(stream, inbox):
    for line in stream:
        inbox.put(line)
    inbox.put(None)


def batches(inbox, limit):
    while True:
        first = inbox.get()
        if first is None:
            return
        batch = [first]
        while len(batch) < limit:
            try:
                item = inbox.get_nowait()
            except queue.Empty:
                break
            if item is None:
                yield batch
                return
            batch.append(item)
        yield batch


def parse(line):
    burst, channel, volts = line.split(",")
    return int(burst), int(channel), float(volts)


def main():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE sample (burst INTEGER, channel INTEGER, volts REAL)")
    meter = subprocess.Popen([sys.executable, "-c", METER], stdout=subprocess.PIPE, text=True)
    inbox = queue.Queue(maxsize=1000)
    pump = threading.Thread(target=reader, args=(meter.stdout, inbox), name="pump")
    pump.start()
    for batch in batches(inbox, 500):
        with db:
            db.executemany("INSERT INTO sample VALUES (?, ?, ?)", map(parse, batch))
    pump.join()
    meter.stdout.close()
    meter.wait()
    count, mean = db.execute("SELECT count(*), avg(volts) FROM sample").fetchone()
    print(count, round(mean, 3))


if __name__ == "__main__":
    main()
