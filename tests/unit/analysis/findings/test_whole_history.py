"""Statistics that each step computes again over all that was collected, and searches through whole sequences."""

from __future__ import annotations

import pytest
from tests.unit.analysis.findings.test_kinds_of_work import kind_at

METHODS = """
class Monitor:
    def __init__(self):
        self.seen = np.empty(0)
    def observe(self, batch):
        self.seen = np.concatenate([self.seen, batch])
    def p99(self):
        return np.percentile(self.seen, 99){more}
for batch in stream:
    monitor.observe(batch)
    monitor.p99()
"""
ARGUMENTS = """
def auc(scores, labels):
    order = np.argsort(scores)
    return rank(order, labels)
scores, labels = [], []
for batch in stream:
    scores.extend(model(batch))
    labels.extend(batch.labels)
    print(auc(np.array(scores), np.array(labels)))
"""
EPOCHS = """
def evaluate(model):
    scores = []
    for batch in stream:
        scores.extend(model(batch))
    return np.median(scores)
for epoch in range(9):
    evaluate(model)
"""
AT_THE_END = """
results = []
def work(item):
    results.append(item)
for item in items:
    work(item)
print(np.percentile(results, 99))
"""
IN_A_LOOP = """
losses = []
for batch in stream:
    losses.append(step(batch))
    best = statistics.median(losses)
"""


@pytest.mark.parametrize(
    ("source", "number", "expected"),
    [
        (METHODS.format(more=""), 8, "whole_history"),
        (METHODS.format(more=""), 6, "copied_to_grow"),
        (
            METHODS.format(more="\n    def reset(self):\n        self.seen = np.empty(0)"),
            8,
            "statistic_each_step",
        ),
        (ARGUMENTS, 3, "whole_history"),
        (ARGUMENTS, 9, "whole_history"),
        (EPOCHS, 6, "statistic_each_step"),
        (AT_THE_END, 7, ""),
        (IN_A_LOOP, 5, "whole_history"),
        (IN_A_LOOP.replace("losses = []", "losses = deque(maxlen=99)"), 5, "statistic_each_step"),
        (IN_A_LOOP.replace("best =", "losses.pop()\n    best ="), 6, "statistic_each_step"),
        (IN_A_LOOP.replace("(losses)", "(losses[-9:])"), 5, "statistic_each_step"),
    ],
)
def test_a_statistic_over_everything_so_far_is_told_from_one_of_a_step(
    source: str, number: int, expected: str
) -> None:
    assert kind_at(source, number) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("place = names.index(wanted)", "sequence_searched"),
        ("place = text.index('=')", ""),
        ("place = np.where(ids == wanted)[0][0]", "searched_linearly"),
        ("place = (ids == wanted).argmax()", "searched_linearly"),
        ("place = np.argmax(ids == wanted)", "searched_linearly"),
        ("price = table[table.id == wanted].iloc[0]", "searched_linearly"),
        ("price = table.loc[table['id'] == wanted, 'price'].values[0]", "searched_linearly"),
        ("mean = values[labels == wanted].mean()", ""),
        ("first = table[table.id == wanted]", ""),
    ],
)
def test_a_search_through_all_items_for_each_item_is_named(line: str, expected: str) -> None:
    assert kind_at(f"for wanted in orders:\n    {line}\n", 2) == expected
