"""Convert payments to euro with the daily rates of the central bank."""
import csv
import os
import random
import tempfile

CURRENCIES = ["USD", "GBP", "CHF", "JPY", "SEK", "NOK", "PLN", "CZK"]


def write_rates(path):
    rng = random.Random(4)
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        for day in range(1, 61):
            for currency in CURRENCIES:
                out.writerow([day, currency, round(rng.uniform(0.5, 2), 4)])


class Converter:
    def __init__(self, path):
        self.path = path

    def rates(self):
        with open(self.path, newline="") as f:
            return {(int(day), currency): float(rate) for day, currency, rate in csv.reader(f)}

    def to_euro(self, day, currency, cents):
        return round(cents * self.rates()[day, currency])


def payments(count):
    rng = random.Random(8)
    for _ in range(count):
        yield rng.randrange(1, 61), rng.choice(CURRENCIES), rng.randrange(100, 10**6)


def main():
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "rates.csv")
    write_rates(path)
    converter = Converter(path)
    total = 0
    for day, currency, cents in payments(5000):
        total += converter.to_euro(day, currency, cents)
    print(total)
    os.unlink(path)
    os.rmdir(folder)


if __name__ == "__main__":
    main()
