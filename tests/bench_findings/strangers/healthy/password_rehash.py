"""Move stored passwords to a stronger derivation, on as many threads as cores."""
import csv
import hashlib
import hmac
import io
import os
import random
from concurrent.futures import ThreadPoolExecutor

ROUNDS = 60000


def accounts(count):
    """The export of the old system."""
    rng = random.Random(61)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("user", "salt", "secret"))
    for n in range(count):
        writer.writerow(("user%d" % n, rng.randbytes(16).hex(),
                         rng.randbytes(32).hex()))
    return out.getvalue()


class Account:
    def __init__(self, row):
        self.user = row["user"]
        self.salt = bytes.fromhex(row["salt"])
        self.secret = bytes.fromhex(row["secret"])
        self.derived = None

    def derive(self):
        self.derived = hashlib.pbkdf2_hmac(
            "sha256", self.secret, self.salt, ROUNDS)
        return self

    def verify(self, secret):
        again = hashlib.pbkdf2_hmac("sha256", secret, self.salt, ROUNDS)
        return hmac.compare_digest(again, self.derived)


def load(text):
    return [Account(row) for row in csv.DictReader(io.StringIO(text))]


def migrate(found):
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(Account.derive, found))


def store(migrated):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("user", "salt", "rounds", "derived"))
    for account in migrated:
        writer.writerow((account.user, account.salt.hex(), ROUNDS,
                         account.derived.hex()))
    return out.getvalue()


def main():
    migrated = migrate(load(accounts(130)))
    text = store(migrated)
    assert len(text.splitlines()) == 131
    assert migrated[0].verify(migrated[0].secret)
    assert not migrated[1].verify(b"wrong")
    print("migrated", len(migrated),
          hashlib.sha256(text.encode()).hexdigest()[:16])


if __name__ == "__main__":
    main()
