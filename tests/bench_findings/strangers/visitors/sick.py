import random


def read_log(n):
    rnd = random.Random(3)
    for _ in range(n):
        yield f"10.0.{rnd.randrange(90)}.{rnd.randrange(90)}"


def unique_addresses(lines):
    known = []
    for addr in lines:
        if addr not in known:
            known.append(addr)
    return known


def main():
    print(len(unique_addresses(read_log(26000))))


main()
