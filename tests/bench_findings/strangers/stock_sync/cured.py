"""Pull fresh stock figures from suppliers into the shop database."""
import json
import os
import socketserver
import sqlite3
import socket
import tempfile
import threading
import time
import multiprocessing as mp
from collections import Counter

SUPPLIERS = 6
ITEMS = 16
ANSWER_TIME = 0.022


class SupplierDesk(socketserver.StreamRequestHandler):
    """One supplier connection: item number in, figures out."""

    def handle(self):
        for line in self.rfile:
            item = int(line)
            time.sleep(ANSWER_TIME)
            figures = {"item": item, "stock": item * 7 % 50, "cents": 500 + item * 13}
            self.wfile.write(json.dumps(figures).encode() + b"\n")


class SupplierServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def serve(port_box):
    with SupplierServer(("127.0.0.1", 0), SupplierDesk) as server:
        port_box.send(server.server_address)
        server.serve_forever()


class Supplier:
    def __init__(self, address):
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines = self.sock.makefile("rb")

    def figures(self, item):
        self.sock.sendall(b"%d\n" % item)
        return json.loads(self.lines.readline())

    def close(self):
        self.lines.close()
        self.sock.close()


def open_db(path):
    db = sqlite3.connect(path, timeout=30, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=OFF")
    return db


def create(path):
    db = open_db(path)
    db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, supplier INT, stock INT, cents INT)")
    db.execute("CREATE TABLE audit (item INT, old INT, new INT)")
    db.execute("BEGIN")
    rows = [(s * 1000 + i, s, 0, 0) for s in range(SUPPLIERS) for i in range(ITEMS)]
    db.executemany("INSERT INTO item VALUES (?, ?, ?, ?)", rows)
    db.execute("COMMIT")
    db.close()


def refresh_item(db, supplier, item):
    fresh = supplier.figures(item)
    db.execute("BEGIN IMMEDIATE")
    (old,) = db.execute("SELECT stock FROM item WHERE id = ?", (item,)).fetchone()
    db.execute(
        "UPDATE item SET stock = ?, cents = ? WHERE id = ?", (fresh["stock"], fresh["cents"], item)
    )
    db.execute("INSERT INTO audit VALUES (?, ?, ?)", (item, old, fresh["stock"]))
    db.execute("COMMIT")


def refresh_supplier(path, address, number):
    db = open_db(path)
    supplier = Supplier(address)
    for (item,) in db.execute("SELECT id FROM item WHERE supplier = ?", (number,)).fetchall():
        refresh_item(db, supplier, item)
    supplier.close()
    db.close()


def report(path):
    db = open_db(path)
    levels = Counter()
    for stock, cents in db.execute("SELECT stock, cents FROM item"):
        levels["empty" if stock == 0 else "low" if stock < 10 else "fine"] += 1
        levels["value"] += stock * cents
    (changes,) = db.execute("SELECT count(*) FROM audit").fetchone()
    db.close()
    print("changes", changes, dict(levels))


def main():
    here, there = mp.Pipe()
    server = mp.Process(target=serve, args=(there,), daemon=True)
    server.start()
    address = here.recv()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "shop.db")
        create(path)
        crew = [
            threading.Thread(target=refresh_supplier, args=(path, address, n))
            for n in range(SUPPLIERS)
        ]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        report(path)
    server.terminate()


if __name__ == "__main__":
    main()
