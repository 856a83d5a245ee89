"""Import audit events from JSON lines, normalise them and count by actor."""
import io
import json
import logging
import pprint
import random
from collections import Counter, defaultdict
from datetime import datetime, timedelta

log = logging.getLogger("audit.importer")
ACTIONS = ("login", "logout", "grant", "revoke", "export", "delete")


def synthesise(count, rng):
    out = io.StringIO()
    start = datetime(2024, 3, 1)
    for i in range(count):
        event = {
            "ts": (start + timedelta(seconds=i * 7)).isoformat(),
            "actor": {"id": rng.randrange(300), "roles": rng.sample(ACTIONS, 3)},
            "action": rng.choice(ACTIONS),
            "target": {"kind": "doc", "path": [f"p{rng.randrange(50)}" for _ in range(6)]},
            "labels": {f"k{j}": rng.randrange(1000) for j in range(5)},
        }
        out.write(json.dumps(event) + "\n")
    out.seek(0)
    return out


class Importer:
    def __init__(self):
        self.by_actor = defaultdict(Counter)
        self.by_hour = Counter()
        self.rejected = 0

    def normalise(self, event):
        when = datetime.fromisoformat(event["ts"])
        path = "/".join(event["target"]["path"])
        labels = {k: v for k, v in sorted(event["labels"].items()) if v > 20}
        return {"when": when, "actor": event["actor"]["id"], "roles": event["actor"]["roles"],
                "action": event["action"], "path": path, "labels": labels}

    def accept(self, record):
        log.debug("accepted record:\n%s", pprint.pformat(record, width=100))
        self.by_actor[record["actor"]][record["action"]] += 1
        self.by_hour[record["when"].hour] += 1

    def run(self, stream):
        for number, line in enumerate(stream, 1):
            try:
                record = self.normalise(json.loads(line))
            except (KeyError, ValueError) as exc:
                self.rejected += 1
                log.warning("line %d rejected: %s", number, exc)
                continue
            self.accept(record)
            if number % 10_000 == 0:
                log.info("%d lines, %d actors", number, len(self.by_actor))


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    stream = synthesise(50_000, random.Random(3))
    importer = Importer()
    importer.run(stream)
    busiest = max(importer.by_actor.items(), key=lambda kv: sum(kv[1].values()))
    print(len(importer.by_actor), busiest[0], importer.by_hour[12], importer.rejected)


if __name__ == "__main__":
    main()
