"""Score candidate features against a table, on all cores."""
import multiprocessing

import numpy as np

CANDIDATES = 36
table = None


def score(column):
    x = table[:, column % table.shape[1]]
    return float(np.round(np.corrcoef(x, table[:, 0])[0, 1], 6))


def main():
    global table
    rng = np.random.default_rng(1)
    table = rng.standard_normal((100_000, 14))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        scores = list(pool.imap(score, range(CANDIDATES)))
    print(len(scores), round(sum(scores), 4))


if __name__ == "__main__":
    main()
