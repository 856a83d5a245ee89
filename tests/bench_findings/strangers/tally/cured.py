import logging, tempfile, os

log = logging.getLogger("tally")


def weigh(k):
    return (k * 2654435761) % 1009


def tally(n):
    total = 0
    for k in range(n):
        w = weigh(k)
        total += w
    return total


def main():
    fd, path = tempfile.mkstemp(suffix=".log")
    os.close(fd)
    logging.basicConfig(filename=path, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    print(tally(120000))
    os.remove(path)


main()
