"""Count the words of a generated corpus, streaming through a file."""
import collections
import os
import random
import tempfile


def write_corpus(path, lines):
    rng = random.Random(1)
    words = [f"w{int(rng.paretovariate(1))}" for _ in range(5000)]
    with open(path, "w") as f:
        for _ in range(lines):
            f.write(" ".join(rng.choices(words, k=20)) + "\n")


def count(path):
    counter = collections.Counter()
    with open(path) as f:
        for line in f:
            counter.update(line.split())
    return counter


def main():
    handle, path = tempfile.mkstemp()
    os.close(handle)
    write_corpus(path, 250_000)
    counter = count(path)
    print(counter.most_common(3), sum(counter.values()))
    os.unlink(path)


if __name__ == "__main__":
    main()
