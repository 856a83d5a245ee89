"""Escape times of a fractal, one row a task, on as many processes as there are cores."""
import multiprocessing
import os

WIDTH, HEIGHT, LIMIT = 480, 320, 200


def row(y):
    total = 0
    ci = (y / HEIGHT - 0.5) * 2.4
    for x in range(WIDTH):
        c = complex((x / WIDTH - 0.7) * 3, ci)
        z = 0j
        n = 0
        while n < LIMIT and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c
            n += 1
        total += n
    return total


def main():
    with multiprocessing.Pool(os.cpu_count()) as pool:
        print(sum(pool.imap_unordered(row, range(HEIGHT), chunksize=4)))


if __name__ == "__main__":
    main()
