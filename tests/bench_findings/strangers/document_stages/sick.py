"""Pass documents through parse, check and file; each answer decides the next."""
import hashlib
import queue
import threading
import time


class Stage(threading.Thread):
    """Takes items from its inbox, works on them and passes them on."""

    def __init__(self, name, work):
        super().__init__(name=name, daemon=True)
        self.inbox = queue.Queue()
        self.next = None
        self.work = work
        self.finished = threading.Event()
        self.handled = 0

    def run(self):
        while True:
            try:
                item = self.inbox.get_nowait()
            except queue.Empty:
                if self.finished.is_set():
                    return
                time.sleep(0.01)
                continue
            self.next.put(self.work(item))
            self.handled += 1

    def stop(self):
        self.finished.set()
        self.join()


def parse(document):
    fields = dict(pair.split("=", 1) for pair in document.split(";"))
    fields["amounts"] = [int(a) for a in fields["amounts"].split(",")]
    return fields


def check(fields):
    fields["total"] = sum(fields["amounts"])
    fields["valid"] = fields["total"] % 7 != 0
    return fields


def file_away(fields):
    key = "%s:%d:%s" % (fields["id"], fields["total"], fields["previous"])
    digest = key.encode()
    for _ in range(800):
        digest = hashlib.sha256(digest).digest()
    return fields["id"], fields["valid"], digest.hex()


def connect(stages, outlet):
    for stage, following in zip(stages, stages[1:]):
        stage.next = following.inbox
    stages[-1].next = outlet
    for stage in stages:
        stage.start()


def document(number, previous):
    amounts = ",".join(str((number * 31 + k * 17) % 400) for k in range(40))
    return "id=%d;previous=%s;amounts=%s" % (number, previous, amounts)


def main():
    outlet = queue.Queue()
    stages = [Stage("parse", parse), Stage("check", check), Stage("file", file_away)]
    connect(stages, outlet)
    previous = "0" * 16
    valid = 0
    for number in range(100):
        stages[0].inbox.put(document(number, previous))
        identity, good, digest = outlet.get()
        assert int(identity) == number
        valid += good
        previous = digest[:16]
    for stage in stages:
        stage.stop()
    assert all(stage.handled == 100 for stage in stages)
    print("valid", valid, "chain", previous)


if __name__ == "__main__":
    main()
