"""Store the readings of a sensor gateway in a local database."""
import math
import os
import sqlite3
import tempfile


class Store:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("create table reading (sensor integer, at integer, value real)")
        self.db.commit()

    def add(self, sensor, at, value):
        self.db.execute("insert into reading values (?, ?, ?)", (sensor, at, value))
        self.db.commit()

    def summary(self):
        return self.db.execute("select count(*), round(sum(value), 3) from reading").fetchone()


def readings(n):
    for i in range(n):
        yield i % 12, 1_700_000_000 + i, 20 + 5 * math.sin(i / 50)


def main():
    folder = tempfile.mkdtemp(dir="/var/tmp")
    path = os.path.join(folder, "readings.db")
    store = Store(path)
    for sensor, at, value in readings(N_READINGS):
        store.add(sensor, at, value)
    print(*store.summary())
    store.db.close()
    os.unlink(path)
    os.rmdir(folder)


N_READINGS = 180

if __name__ == "__main__":
    main()
