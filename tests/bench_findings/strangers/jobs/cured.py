import threading, time, queue, hashlib

inbox = queue.Queue()
outbox = queue.Queue()
BLOB = b"q" * 4_000_000


def worker():
    while True:
        n = inbox.get()
        if n is None:
            return
        outbox.put(hashlib.sha256(BLOB + bytes([n])).hexdigest())


def submit_and_wait(n):
    inbox.put(n)
    return outbox.get()


def main():
    t = threading.Thread(target=worker, name="hasher")
    t.start()
    for n in range(20):
        last = submit_and_wait(n)
    inbox.put(None)
    t.join()
    print(last)


main()
