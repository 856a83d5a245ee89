import time, math


def sample(k):
    return sum(math.sin(k + i / 10) for i in range(3000))


def main():
    period = 0.05
    due = time.monotonic()
    tot = 0
    for k in range(45):
        tot += sample(k)
        due += period
        time.sleep(max(0, due - time.monotonic()))
    print(round(tot, 3))


main()
