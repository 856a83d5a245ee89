"""Book entries in a ledger that is kept by a server with a login."""
import multiprocessing
import socket
import socketserver
import time


class Ledger(socketserver.StreamRequestHandler):
    balance = {}

    def handle(self):
        self.rfile.readline()
        time.sleep(0.025)
        self.wfile.write(b"welcome\n")
        for line in self.rfile:
            account, cents = line.split()
            value = Ledger.balance.get(account, 0) + int(cents)
            Ledger.balance[account] = value
            self.wfile.write(b"%d\n" % value)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


def serve(ready):
    with Server(("127.0.0.1", 0), Ledger) as server:
        ready.send(server.server_address[1])
        server.serve_forever()


class Session:
    def __init__(self, port):
        self.link = socket.create_connection(("127.0.0.1", port))
        self.stream = self.link.makefile("rwb")
        self.stream.write(b"login clerk secret\n")
        self.stream.flush()
        self.stream.readline()

    def book(self, account, cents):
        self.stream.write(b"%d %d\n" % (account, cents))
        self.stream.flush()
        return int(self.stream.readline())

    def close(self):
        self.stream.close()
        self.link.close()


def book_all(port, entries):
    last = 0
    session = Session(port)
    for account, cents in entries:
        last += session.book(account, cents)
    session.close()
    return last


def main():
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    entries = [(i % 7, i * 13 % 500) for i in range(105)]
    print(book_all(port, entries))
    server.terminate()


if __name__ == "__main__":
    main()
