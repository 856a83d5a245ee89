import os, tempfile, json


class Book:
    def __init__(self, path):
        self.f = open(path, "w")

    def add(self, row):
        self.f.write(json.dumps(row) + "\n")

    def close(self):
        self.f.flush()
        os.fsync(self.f.fileno())
        self.f.close()


def main():
    with tempfile.TemporaryDirectory() as d:
        b = Book(os.path.join(d, "book.jsonl"))
        for i in range(N):
            b.add({"id": i, "amount": i * 3 % 97, "note": "transfer"})
        b.close()
        print(os.path.getsize(os.path.join(d, "book.jsonl")))


N = 1000
main()
