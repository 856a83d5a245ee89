"""A board where couriers wait for delivery slips, one slip per courier."""
import threading
from collections import Counter, deque

COURIERS = 160
SLIPS = 5500
TRAYS = 3
ZONES = ("north", "east", "south", "west", "harbour")


class Board:
    def __init__(self):
        self.cond = threading.Condition()
        self.slips = deque()
        self.closed = False

    def post(self, slip):
        with self.cond:
            self.slips.append(slip)
            self.cond.notify()

    def take(self):
        with self.cond:
            while not self.slips:
                if self.closed:
                    return None
                self.cond.wait()
            return self.slips.popleft()

    def close(self):
        with self.cond:
            self.closed = True
            self.cond.notify_all()


class Ledger:
    """Finished slips; a tray is free again once its slip is entered."""

    def __init__(self, trays):
        self.lock = threading.Lock()
        self.trays = threading.Semaphore(trays)
        self.done = []

    def add(self, courier, slip, distance):
        with self.lock:
            self.done.append((slip["id"], courier, slip["zone"], distance))
        self.trays.release()


def route_length(slip):
    """Nearest-neighbour tour over the stops of the slip."""
    stops = list(slip["stops"])
    x, y = 0, 0
    total = 0.0
    while stops:
        best = min(stops, key=lambda s: (s[0] - x) ** 2 + (s[1] - y) ** 2)
        total += ((best[0] - x) ** 2 + (best[1] - y) ** 2) ** 0.5
        x, y = best
        stops.remove(best)
    return total


def courier(name, board, ledger):
    while True:
        slip = board.take()
        if slip is None:
            return
        ledger.add(name, slip, route_length(slip))


def make_slip(number):
    stops = [((number * 37 + i * 91) % 113, (number * 53 + i * 29) % 97) for i in range(12)]
    return {"id": number, "zone": ZONES[number % len(ZONES)], "stops": stops}


def summary(done):
    zones = Counter()
    length = Counter()
    for _, _, zone, distance in done:
        zones[zone] += 1
        length[zone] += distance
    for zone in ZONES:
        print(f"{zone:8s} {zones[zone]:4d} slips  {length[zone]:10.1f} units")


def main():
    board, ledger = Board(), Ledger(TRAYS)
    crew = [
        threading.Thread(target=courier, args=(f"c{i:03d}", board, ledger)) for i in range(COURIERS)
    ]
    for thread in crew:
        thread.start()
    for number in range(SLIPS):
        ledger.trays.acquire()
        board.post(make_slip(number))
    board.close()
    for thread in crew:
        thread.join()
    assert len(ledger.done) == SLIPS
    summary(ledger.done)


if __name__ == "__main__":
    main()
