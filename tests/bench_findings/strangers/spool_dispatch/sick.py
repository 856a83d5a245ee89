"""A dispatcher that gives print jobs to a printer thread, one after the other."""
import hashlib
import queue
import threading
import time


class Job:
    def __init__(self, number, text):
        self.number = number
        self.text = text
        self.state = "waiting"
        self.digest = None


def printer(inbox):
    while True:
        job = inbox.get()
        if job is None:
            return
        job.state = "printing"
        job.digest = hashlib.pbkdf2_hmac("sha256", job.text, b"ink", 30_000)
        job.state = "done"


def print_all(jobs):
    inbox = queue.Queue()
    thread = threading.Thread(target=printer, args=(inbox,))
    thread.start()
    for job in jobs:
        inbox.put(job)
        while job.state != "done":
            time.sleep(0.25)
    inbox.put(None)
    thread.join()


def main():
    jobs = [Job(i, b"page %d" % i) for i in range(12)]
    print_all(jobs)
    print(len(jobs), hashlib.sha1(b"".join(j.digest for j in jobs)).hexdigest()[:12])


if __name__ == "__main__":
    main()
