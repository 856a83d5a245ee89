"""Read a rack of bench instruments over their line-based TCP port."""
import math
import multiprocessing as mp
import socket
import socketserver
import statistics
from concurrent.futures import ThreadPoolExecutor

CHANNELS = ("VOLT:DC", "CURR:DC", "FREQ", "TEMP")
INSTRUMENTS = 3
SWEEPS = 5
POINTS = 200


class Bench(socketserver.StreamRequestHandler):
    """The firmware side: a query line gets one line of samples."""

    def handle(self):
        for line in self.rfile:
            command = line.decode().strip()
            if command == "*IDN?":
                self.wfile.write(b"ACME,DM-40,0017,2.1\n")
                continue
            _, channel, sweep = command.split(" ")
            scale = 1 + CHANNELS.index(channel)
            samples = (
                scale * math.sin((n + int(sweep)) / 9) + 0.01 * (n % 7) for n in range(POINTS)
            )
            self.wfile.write((",".join(f"{v:.5f}" for v in samples) + "\n").encode())


class BenchServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


def run_bench(pipe):
    with BenchServer(("127.0.0.1", 0), Bench) as server:
        pipe.send(server.server_address)
        server.serve_forever()


class Instrument:
    def __init__(self, address):
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.settimeout(0.12)
        self.name = self.query("*IDN?").split(",")[1]

    def query(self, command):
        self.sock.sendall(command.encode() + b"\n")
        reply = bytearray()
        while True:
            try:
                chunk = self.sock.recv(4096)
            except socket.timeout:
                break
            if not chunk:
                break
            reply += chunk
        return reply.decode().strip()

    def measure(self, channel, sweep):
        return [float(v) for v in self.query(f"MEAS? {channel} {sweep}").split(",")]

    def close(self):
        self.sock.close()


def characterise(samples):
    mean = statistics.fmean(samples)
    rms = math.sqrt(statistics.fmean(v * v for v in samples))
    crossings = sum((a < mean) != (b < mean) for a, b in zip(samples, samples[1:]))
    return mean, rms, crossings


def survey(address):
    instrument = Instrument(address)
    table = {}
    for sweep in range(SWEEPS):
        for channel in CHANNELS:
            samples = instrument.measure(channel, sweep)
            assert len(samples) == POINTS
            table.setdefault(channel, []).append(characterise(samples))
    instrument.close()
    return instrument.name, table


def main():
    here, there = mp.Pipe()
    bench = mp.Process(target=run_bench, args=(there,), daemon=True)
    bench.start()
    address = here.recv()
    with ThreadPoolExecutor(INSTRUMENTS) as rack:
        surveys = list(rack.map(survey, [address] * INSTRUMENTS))
    bench.terminate()
    for number, (name, table) in enumerate(surveys):
        for channel, rows in table.items():
            mean = statistics.fmean(r[0] for r in rows)
            rms = statistics.fmean(r[1] for r in rows)
            print(f"{number} {name} {channel:8s} mean {mean:8.4f} rms {rms:8.4f} x{rows[-1][2]}")


if __name__ == "__main__":
    main()
