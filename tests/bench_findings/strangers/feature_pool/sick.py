"""Score candidate features against a table, on all cores."""
import multiprocessing

import numpy as np

CANDIDATES = 36


def score(job):
    table, column = job
    x = table[:, column % table.shape[1]]
    return float(np.round(np.corrcoef(x, table[:, 0])[0, 1], 6))


def main():
    rng = np.random.default_rng(1)
    table = rng.standard_normal((100_000, 14))
    jobs = ((table, column) for column in range(CANDIDATES))
    with multiprocessing.Pool(2) as pool:
        scores = list(pool.imap(score, jobs))
    print(len(scores), round(sum(scores), 4))


if __name__ == "__main__":
    main()
