import time
from concurrent.futures import ThreadPoolExecutor

REGIONS = {"north": 8, "south": 14, "east": 10, "west": 68}


def deliver(address):
    time.sleep(0.025)


def main():
    todo = [f"{r}-{k}@example.org" for r, n in REGIONS.items() for k in range(n)]
    with ThreadPoolExecutor(4) as ex:
        list(ex.map(deliver, todo))
    print("sent", len(todo))


main()
