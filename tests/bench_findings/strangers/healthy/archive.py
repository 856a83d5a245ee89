"""Compress blocks on all cores: zlib releases the interpreter lock."""
import os
import random
import zlib
from concurrent.futures import ThreadPoolExecutor


def block(number):
    rng = random.Random(number)
    words = [rng.randbytes(6) for _ in range(300)]
    return b" ".join(rng.choices(words, k=60_000))


def main():
    blocks = [block(i) for i in range(36)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sizes = list(pool.map(lambda data: len(zlib.compress(data * 3, 9)), blocks))
    print(sum(sizes))


if __name__ == "__main__":
    main()
