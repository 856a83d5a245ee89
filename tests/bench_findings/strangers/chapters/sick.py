from multiprocessing import Process, Queue
import os


def typeset(size):
    acc = 0
    for i in range(size * 1000):
        acc = (acc * 31 + i) % 1000003
    return acc


def press(sizes, out):
    out.put(sum(typeset(s) for s in sizes))


def main():
    sizes = [10 * k for k in range(1, 81)]
    half = len(sizes) // 2
    out = Queue()
    ps = [Process(target=press, args=(part, out)) for part in (sizes[:half], sizes[half:])]
    for p in ps:
        p.start()
    total = sum(out.get() for _ in ps)
    for p in ps:
        p.join()
    print(total)


main()
