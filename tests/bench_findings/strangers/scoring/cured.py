from multiprocessing import Pool
import random

TABLE = {}


def build():
    rnd = random.Random(1)
    return {f"word{i}": [rnd.random() for _ in range(3)] for i in range(60000)}


def score(text):
    table = TABLE
    return sum(table[w][0] for w in text if w in table)


def main():
    TABLE.update(build())
    texts = [[f"word{(i * 31 + k) % 70000}" for k in range(50)] for i in range(24)]
    with Pool(2) as pool:
        out = pool.map(score, texts, chunksize=1)
    print(round(sum(out), 3))


main()
