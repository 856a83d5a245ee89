import threading, time

REGIONS = {"north": 8, "south": 14, "east": 10, "west": 68}


def deliver(address):
    # the relay answers after a while
    time.sleep(0.025)


def postman(region, count):
    for k in range(count):
        deliver(f"{region}-{k}@example.org")


def main():
    men = [threading.Thread(target=postman, args=item, name=item[0]) for item in REGIONS.items()]
    for m in men:
        m.start()
    for m in men:
        m.join()
    print("sent", sum(REGIONS.values()))


main()
