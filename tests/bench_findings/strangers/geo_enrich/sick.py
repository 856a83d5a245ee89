"""Add the country to visitor records, with the lookup service of the intranet."""
import asyncio
import http.client
import multiprocessing
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Lookup(BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.07)
        body = b"DE" if int(self.path.rsplit(".", 1)[1]) % 2 else b"FR"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def serve(ready):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Lookup)
    ready.send(server.server_port)
    server.serve_forever()


def country_of(port, ip):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/" + ip)
    answer = connection.getresponse().read().decode()
    connection.close()
    return answer


async def enrich(port, record):
    record["country"] = country_of(port, record["ip"])
    await asyncio.sleep(0)
    return record


async def run(port):
    records = [{"ip": f"10.0.0.{i}"} for i in range(40)]
    done = await asyncio.gather(*(enrich(port, r) for r in records))
    count = {}
    for record in done:
        count[record["country"]] = count.get(record["country"], 0) + 1
    print(sorted(count.items()))


def main():
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    asyncio.run(run(here.recv()))
    server.terminate()


if __name__ == "__main__":
    main()
