"""Relay the pages of a news feed to a slow subscriber, item by item."""
import multiprocessing
import queue
import socket
import socketserver
import threading
import time

PAGES = 9


class Remote(socketserver.StreamRequestHandler):
    """Both ends of the relay: 'page' takes long, 'post' takes a little."""

    def handle(self):
        for line in self.rfile:
            time.sleep(0.18 if line.startswith(b"page") else 0.018)
            self.wfile.write(b"ok\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


def serve(ready):
    with Server(("127.0.0.1", 0), Remote) as server:
        ready.send(server.server_address[1])
        server.serve_forever()


def reader(port, items):
    with socket.create_connection(("127.0.0.1", port)) as link:
        for page in range(PAGES):
            link.sendall(b"page %d\n" % page)
            link.recv(10)
            for i in range(10):
                items.put(page * 10 + i)
    items.put(None)


def main():
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    items = queue.Queue(maxsize=1)
    thread = threading.Thread(target=reader, args=(port, items))
    thread.start()
    posted = 0
    with socket.create_connection(("127.0.0.1", port)) as link:
        while (item := items.get()) is not None:
            link.sendall(b"post %d\n" % item)
            link.recv(10)
            posted += item
    thread.join()
    print(posted)
    server.terminate()


if __name__ == "__main__":
    main()
