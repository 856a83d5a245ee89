"""Asks a server for one thing after the other. Cured: for all at once."""

import socket
import sys
import threading
import time

SICK = sys.argv[1] == "sick"
server = socket.create_server(("127.0.0.1", 0))


def answer(connection: socket.socket) -> None:
    while connection.recv(1):
        time.sleep(0.06)
        connection.sendall(b"x")


def serve() -> None:
    while True:
        connection, _ = server.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def ask() -> None:
    with socket.create_connection(server.getsockname()) as client:
        client.sendall(b"?")
        client.recv(1)  # sick


threading.Thread(target=serve, daemon=True).start()
if SICK:
    for _ in range(10):
        ask()
else:
    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
sum(range(6_000_000))
