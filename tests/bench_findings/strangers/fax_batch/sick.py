"""Hand documents to the fax gateway from four worker processes."""
import multiprocessing
import socket
import socketserver
import time

PROCESSES = 4


class Gateway(socketserver.StreamRequestHandler):
    """Answers when all pages of a document are on the line."""

    def handle(self):
        for line in self.rfile:
            pages = int(line)
            time.sleep(pages * 0.02)
            self.wfile.write(b"ok %d\n" % pages)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def serve(ready):
    with Server(("127.0.0.1", 0), Gateway) as server:
        ready.send(server.server_address[1])
        server.serve_forever()


def submit(job):
    port, pages = job
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"%d\n" % pages)
        answer = line.recv(100)
    return int(answer.split()[1])


def main():
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    documents = sorted([1] * 36 + [2] * 12 + [9] * 16)
    jobs = [(port, pages) for pages in documents]
    with multiprocessing.Pool(PROCESSES) as pool:
        sent = pool.map(submit, jobs, chunksize=len(jobs) // PROCESSES)
    print(len(sent), sum(sent))
    server.terminate()


if __name__ == "__main__":
    main()
