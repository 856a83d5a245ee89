import threading, time

STOCK = {f"sku{i}": 100 for i in range(40)}
guard = threading.Lock()


def notify_warehouse(sku):
    # answer of the remote warehouse takes a while
    time.sleep(0.012)
    return sku


def reserve(sku):
    with guard:
        STOCK[sku] -= 1
    notify_warehouse(sku)


def clerk(n):
    for k in range(40):
        reserve(f"sku{(n * 7 + k) % 40}")


def main():
    ts = [threading.Thread(target=clerk, args=(i,), name=f"clerk{i}") for i in range(4)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    print(sum(STOCK.values()))


main()
