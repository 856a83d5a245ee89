"""Asks a server that is slow to answer. Cured: it answers at once."""

import socket
import sys
import threading
import time

SICK = sys.argv[1] == "sick"
server = socket.create_server(("127.0.0.1", 0))


def answer(connection: socket.socket) -> None:
    while connection.recv(1):
        if SICK:
            time.sleep(0.06)  # sick
        connection.sendall(b"x")


def serve() -> None:
    while True:
        connection, _ = server.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def ask() -> None:
    with socket.create_connection(server.getsockname()) as client:
        client.sendall(b"?")
        client.recv(1)


threading.Thread(target=serve, daemon=True).start()
for _ in range(10):
    ask()
sum(range(5_000_000))
