import threading, time, queue, hashlib

inbox = queue.Queue()
results = {}
BLOB = b"q" * 4_000_000


def worker():
    while True:
        n = inbox.get()
        if n is None:
            return
        results[n] = hashlib.sha256(BLOB + bytes([n])).hexdigest()


def submit_and_wait(n):
    inbox.put(n)
    while n not in results:
        time.sleep(0.1)
    return results[n]


def main():
    t = threading.Thread(target=worker, name="hasher")
    t.start()
    for n in range(20):
        last = submit_and_wait(n)
    inbox.put(None)
    t.join()
    print(last)


main()
