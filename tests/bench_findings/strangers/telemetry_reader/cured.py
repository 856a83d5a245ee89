"""Collect channel dumps from a bench instrument and summarise them."""
import math
import socket
import statistics
import threading
import time

TERMINATOR = b"END\r\n"


class Instrument(threading.Thread):
    """SCPI-flavoured device: answers a query with some lines, then END."""

    def __init__(self, channels):
        super().__init__(name="instrument")
        self.channels = channels
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def dump(self, channel):
        for i in range(400):
            yield f"{channel},{i},{math.sin(i / (3.0 + channel)):.6f}\r\n".encode()

    def run(self):
        conn, _ = self.listener.accept()
        with self.listener, conn, conn.makefile("rb") as commands:
            for command in commands:
                verb, _, arg = command.strip().partition(b" ")
                if verb == b"QUIT":
                    break
                time.sleep(0.03)
                lines = list(self.dump(int(arg)))
                half = len(lines) // 2
                conn.sendall(b"".join(lines[:half]))
                time.sleep(0.01)
                conn.sendall(b"".join(lines[half:]) + TERMINATOR)


class BenchLink:
    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.settimeout(0.25)
        self.bytes_in = 0

    def send(self, text):
        self.sock.sendall(text.encode() + b"\r\n")

    def query(self, text):
        self.send(text)
        reply = bytearray()
        while True:
            try:
                part = self.sock.recv(4096)
            except TimeoutError:
                if reply:
                    break
                continue
            if not part:
                break
            reply += part
            if reply.endswith(TERMINATOR):
                break
        self.bytes_in += len(reply)
        return bytes(reply)

    def close(self):
        self.send("QUIT")
        self.sock.close()


def parse_dump(raw):
    values = []
    for line in raw.split(b"\r\n"):
        fields = line.split(b",")
        if len(fields) == 3:
            values.append(float(fields[2]))
    return values


def summarise(values):
    return {"n": len(values), "mean": statistics.fmean(values),
            "sd": statistics.pstdev(values), "peak": max(values)}


def main():
    device = Instrument(channels=12)
    device.start()
    link = BenchLink(device.port)
    table = {}
    for channel in range(device.channels):
        table[channel] = summarise(parse_dump(link.query(f"DUMP {channel}")))
    link.close()
    device.join()
    print(link.bytes_in, round(sum(row["sd"] for row in table.values()), 6))


if __name__ == "__main__":
    main()
