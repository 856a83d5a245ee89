"""Answer support tickets from the compressed audit archive."""
import gzip
import hashlib
import json
import os
import random
import tempfile
from collections import Counter

EVENTS = 90_000
TICKETS = 260
KINDS = ("login", "logout", "purchase", "refund", "export", "invite")


def build_archive(path):
    """Write the archive and return the offset table kept beside it."""
    rng = random.Random(5)
    offsets = {}
    position = 0
    with gzip.open(path, "wb", compresslevel=1) as out:
        block = []
        for n in range(EVENTS):
            key = f"ev-{n:06d}"
            line = (
                f'{{"id":"{key}","kind":"{KINDS[n % 6]}","user":{rng.randrange(4000)},'
                f'"note":"{"session renewed from device " * 5}","amount":{rng.randrange(10**6)}}}\n'
            ).encode()
            offsets[key] = position
            position += len(line)
            block.append(line)
            if len(block) == 1000:
                out.write(b"".join(block))
                block.clear()
        out.write(b"".join(block))
    return offsets


def load_tickets(offsets):
    rng = random.Random(8)
    tickets = []
    for number, key in enumerate(rng.sample(sorted(offsets), TICKETS)):
        tickets.append({"ticket": 7000 + number, "event": key, "agent": f"a{number % 7}"})
    return tickets


def read_event(archive, offset):
    archive.seek(offset)
    return json.loads(archive.readline())


def redact(event):
    digest = hashlib.sha256(str(event["user"]).encode()).hexdigest()[:10]
    return {**event, "user": digest, "note": event["note"][:24]}


def answer(path, offsets, tickets):
    answers = {}
    with gzip.open(path, "rb") as archive:
        for ticket in sorted(tickets, key=lambda t: offsets[t["event"]]):
            event = read_event(archive, offsets[ticket["event"]])
            answers[ticket["ticket"]] = redact(event)
    return answers


def report(tickets, answers):
    per_agent = Counter()
    kinds = Counter()
    amount = 0
    for ticket in tickets:
        event = answers[ticket["ticket"]]
        assert event["id"] == ticket["event"]
        per_agent[ticket["agent"]] += 1
        kinds[event["kind"]] += 1
        amount += event["amount"]
    print("agents", dict(sorted(per_agent.items())))
    print("kinds", dict(sorted(kinds.items())))
    print("amount", amount)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "audit.jsonl.gz")
        offsets = build_archive(path)
        tickets = load_tickets(offsets)
        answers = answer(path, offsets, tickets)
        report(tickets, answers)


if __name__ == "__main__":
    main()
