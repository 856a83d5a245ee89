"""Copy measurements to a gateway that takes forty messages a second and no more."""
import multiprocessing as mp
import socket
import time

RATE = 40.0
BURST = 5


def gateway(pipe):
    """Answers OK, or SLOW when more than the agreed rate arrives."""
    listener = socket.create_server(("127.0.0.1", 0))
    pipe.send(listener.getsockname())
    sock, _ = listener.accept()
    level, last = float(BURST), time.monotonic()
    accepted = refused = 0
    with sock, sock.makefile("rb") as lines:
        for line in lines:
            now = time.monotonic()
            level = min(BURST, level + (now - last) * RATE)
            last = now
            if level >= 1.0:
                level -= 1.0
                accepted += 1
                sock.sendall(b"OK\n")
            else:
                refused += 1
                sock.sendall(b"SLOW\n")
    listener.close()
    pipe.send((accepted, refused))


class Bucket:
    """Lets calls through at the agreed rate."""

    def __init__(self, rate, burst):
        self.rate = rate
        self.burst = burst
        self.level = float(burst)
        self.last = time.monotonic()

    def take(self):
        now = time.monotonic()
        self.level = min(self.burst, self.level + (now - self.last) * self.rate)
        self.last = now
        if self.level < 1.0:
            time.sleep((1.0 - self.level) / self.rate + 0.0002)
            now = time.monotonic()
            self.level += (now - self.last) * self.rate
            self.last = now
        self.level -= 1.0


def measurements(count):
    return [b"%d;%d\n" % (n, n * n % 997) for n in range(count)]


def main():
    ours, theirs = mp.Pipe()
    process = mp.Process(target=gateway, args=(theirs,), daemon=True)
    process.start()
    sock = socket.create_connection(ours.recv())
    bucket = Bucket(RATE, BURST)
    good = 0
    with sock.makefile("rb") as replies:
        for line in measurements(90):
            while True:
                bucket.take()
                sock.sendall(line)
                if replies.readline() == b"OK\n":
                    break
            good += 1
    sock.shutdown(socket.SHUT_RDWR)
    sock.close()
    accepted, refused = ours.recv()
    process.join()
    assert accepted == good == 90 and refused <= 5
    print("accepted", accepted)


if __name__ == "__main__":
    main()
