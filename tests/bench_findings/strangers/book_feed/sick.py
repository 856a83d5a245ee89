"""Split a recorded feed of market messages and keep the state of each book."""
import random
import struct

HEAD = struct.Struct(">HBI")
QUOTE, TRADE, CLEAR = 1, 2, 3


def feed(count):
    """The bytes of a session, as they would lie in a capture."""
    rng = random.Random(51)
    out = bytearray()
    for _ in range(count):
        kind = rng.choice((QUOTE, QUOTE, QUOTE, TRADE, TRADE, CLEAR))
        book = rng.randrange(300)
        if kind == QUOTE:
            levels = rng.randrange(20, 160)
            body = struct.pack(">%dI" % levels, *rng.choices(range(5000, 9000), k=levels))
        elif kind == TRADE:
            body = struct.pack(">II", rng.randrange(5000, 9000), rng.randrange(1, 50))
        else:
            body = b""
        out += HEAD.pack(len(body), kind, book) + body
    return bytes(out)


class Splitter:
    """Collects pieces and gives back the whole messages in them."""

    def __init__(self):
        self.data = b""

    def take(self, piece):
        self.data += piece

    def messages(self):
        while len(self.data) >= HEAD.size:
            size, kind, book = HEAD.unpack_from(self.data)
            end = HEAD.size + size
            if len(self.data) < end:
                return
            body = self.data[HEAD.size:end]
            self.data = self.data[end:]
            yield kind, book, body


class Book:
    __slots__ = ("best", "volume", "last", "resets")

    def __init__(self):
        self.best = self.volume = self.last = self.resets = 0

    def update(self, kind, body):
        if kind == QUOTE:
            self.best = max(struct.unpack(">%dI" % (len(body) // 4), body))
        elif kind == TRADE:
            self.last, pieces = struct.unpack(">II", body)
            self.volume += pieces
        else:
            self.best = 0
            self.resets += 1


def replay(data):
    splitter = Splitter()
    books = {}
    count = 0
    splitter.take(data)
    for kind, book, body in splitter.messages():
        if book not in books:
            books[book] = Book()
        books[book].update(kind, body)
        count += 1
    return books, count, len(splitter.data)


def main():
    data = feed(24000)
    books, count, left = replay(data)
    assert count == 24000 and left == 0
    print("bytes", len(data), "books", len(books),
          "volume", sum(b.volume for b in books.values()),
          "best", sum(b.best for b in books.values()),
          "resets", sum(b.resets for b in books.values()))


if __name__ == "__main__":
    main()
