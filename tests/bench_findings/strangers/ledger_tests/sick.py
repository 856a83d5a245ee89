"""Unit tests of the ledger package (kept in one file)."""
import gc
import random
import sys
import unittest
import weakref


class Account:
    def __init__(self, number):
        self.number = number
        self.entries = []

    def balance(self):
        return sum(entry.cents for entry in self.entries)


class Entry:
    def __init__(self, account, cents, memo):
        self.account = account
        self.cents = cents
        self.memo = memo


class Ledger:
    def __init__(self):
        self.accounts = {}

    def post(self, source, target, cents, memo):
        for number, amount in ((source, -cents), (target, cents)):
            account = self.accounts.setdefault(number, Account(number))
            account.entries.append(Entry(account, amount, {"text": memo, "tags": [memo[:3]]}))

    def statement(self, number):
        running, lines = 0, []
        for entry in self.accounts[number].entries:
            running += entry.cents
            lines.append((entry.memo["text"], entry.cents, running))
        return lines


def sample_ledger(postings):
    rng = random.Random(77)
    ledger = Ledger()
    for i in range(postings):
        source, target = rng.sample(range(200), 2)
        ledger.post(source, target, rng.randrange(1, 9000), f"inv{i}")
    return ledger


class LedgerCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ledger = sample_ledger(50_000)

    @classmethod
    def tearDownClass(cls):
        del cls.ledger

    def setUp(self):
        self.scratch = Ledger()
        self.watch = weakref.ref(self.scratch)

    def tearDown(self):
        self.scratch = None
        gc.collect()
        self.assertIsNone(self.watch())


def statement_test(number):
    def test(self):
        lines = self.ledger.statement(number)
        self.assertEqual(lines[-1][2], self.ledger.accounts[number].balance())
        for text, cents, _ in lines[:50]:
            self.scratch.post(1, 2, abs(cents), text)
        self.assertEqual(self.scratch.accounts[1].balance(), -self.scratch.accounts[2].balance())
    return test


for _number in range(20):
    setattr(LedgerCase, f"test_statement_{_number:02d}", statement_test(_number))


if __name__ == "__main__":
    outcome = unittest.main(argv=sys.argv[:1], exit=False, verbosity=0).result
    sys.exit(not outcome.wasSuccessful())
