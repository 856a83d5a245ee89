"""HTTP-ish gateway: asyncio in front, a legacy blocking directory client behind."""
import asyncio
import json
import multiprocessing as mp
import socket
import socketserver
import time
from concurrent.futures import ThreadPoolExecutor

CLIENTS = 20
CALLS = 6
DIRECTORY_TIME = 0.022
ROLES = ("reader", "editor", "owner")


class Directory(socketserver.StreamRequestHandler):
    """The company directory, an old line protocol with one answer per dial-in."""

    def handle(self):
        user = int(self.rfile.readline())
        time.sleep(DIRECTORY_TIME)
        entry = {"user": user, "role": ROLES[user % 3], "team": f"team-{user % 9}"}
        self.wfile.write(json.dumps(entry).encode() + b"\n")


class DirectoryServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


def run_directory(pipe):
    with DirectoryServer(("127.0.0.1", 0), Directory) as server:
        pipe.send(server.server_address)
        server.serve_forever()


class DirectoryClient:
    def __init__(self, address):
        self.address = address

    def lookup(self, user):
        with socket.create_connection(self.address) as sock, sock.makefile("rwb") as stream:
            stream.write(b"%d\n" % user)
            stream.flush()
            return json.loads(stream.readline())


class Gateway:
    def __init__(self, directory):
        self.directory = directory
        self.pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="directory")
        self.served = 0

    async def authorise(self, user, action):
        pending = self.pool.submit(self.directory.lookup, user)
        entry = pending.result()
        allowed = action == "view" or entry["role"] != "reader"
        return {"user": user, "team": entry["team"], "allowed": allowed}

    async def connection(self, reader, writer):
        try:
            while line := await reader.readline():
                request = json.loads(line)
                answer = await self.authorise(request["user"], request["action"])
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
                self.served += 1
        finally:
            writer.close()


async def client(port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    allowed = 0
    for call in range(CALLS):
        request = {"user": number * 31 + call, "action": "edit" if call % 2 else "view"}
        writer.write(json.dumps(request).encode() + b"\n")
        await writer.drain()
        answer = json.loads(await reader.readline())
        allowed += answer["allowed"]
    writer.close()
    await writer.wait_closed()
    return allowed


async def session(address):
    gateway = Gateway(DirectoryClient(address))
    server = await asyncio.start_server(gateway.connection, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        allowed = await asyncio.gather(*(client(port, n) for n in range(CLIENTS)))
    gateway.pool.shutdown()
    return gateway.served, sum(allowed)


def main():
    here, there = mp.Pipe()
    directory = mp.Process(target=run_directory, args=(there,), daemon=True)
    directory.start()
    served, allowed = asyncio.run(session(here.recv()))
    directory.terminate()
    print("served", served, "allowed", allowed, "refused", served - allowed)


if __name__ == "__main__":
    main()
