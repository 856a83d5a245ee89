"""Kinds of work that are only noted: often the program needs them, and a remedy is worth a try."""

from __future__ import annotations

import re

from warpline.analysis.findings.finding import Severity
from warpline.analysis.findings.work import loop_shapes, queries, shapes, whole_history
from warpline.analysis.findings.work.kind import WorkKind
from warpline.i18n import english

NOTE = Severity.NOTE

NOTED_KINDS: tuple[WorkKind, ...] = (
    # The first match counts.
    WorkKind(
        key="inserts",
        doing=english("inserting rows into a database in batches"),
        line=queries.inserts_batches,
        remedy=english(
            "Insert all batches in one transaction, in the order of the key, and create indexes afterwards. Rows that "
            "need no parsing in Python are loaded faster by the database's own import."
        ),
        refutation=english("Refuted if all batches are one transaction and the table has no index yet."),
        worst=NOTE,
    ),
    WorkKind(
        key="queries",
        doing=english("database queries"),
        line=queries.queries,
        remedy=english(
            "Look at EXPLAIN QUERY PLAN: without an index on the columns that are compared, each query scans the whole "
            "table. Ask for many rows in one query instead of one each, and commit once per batch."
        ),
        refutation=english("Refuted if the plan uses an index and the program needs every query."),
        worst=NOTE,
    ),
    WorkKind(
        key="statistic_each_step",
        doing=english("a statistic that each step computes"),
        frames=re.compile(r"/(sklearn/metrics|torchmetrics|torcheval/metrics)/"),
        line=whole_history.computes_statistic_each_step,
        remedy=english("Compute it every N steps, or over a sample: N steps share its cost."),
        refutation=english("Refuted if each step needs the result."),
        worst=NOTE,
    ),
    WorkKind(
        key="reduced_in_python",
        doing=english("reducing a collection item by item with a Python builtin (sum, min, max)"),
        line=loop_shapes.reduces_in_python,
        remedy=english(
            "If it is an array or a tensor, use its own method, such as array.sum(): that loop is native."
        ),
        refutation=english("Refuted if the collection is a list."),
        worst=NOTE,
    ),
    WorkKind(
        key="membership",
        doing=english("testing membership (in)"),
        line=shapes.tests_membership,
        remedy=english("If the right side is a list or tuple, use a set or dict instead."),
        refutation=english("Refuted if the right side is already a set or dict."),
        worst=NOTE,
    ),
    WorkKind(
        key="pairs",
        doing=english("comparing each item with every other one, which takes quadratic time"),
        line=loop_shapes.pairs_items,
        remedy=english(
            "Sort the items or group them in a dict by a key, and compare only those that are close."
        ),
        refutation=english("Refuted if there are only a few items, or every pair matters."),
        worst=NOTE,
    ),
    WorkKind(
        key="python_loops",
        doing=english("computing with single elements in nested Python loops"),
        line=loop_shapes.loops_in_python,
        remedy=english("Vectorize the loops with NumPy, or compile them with Numba or Cython."),
        refutation=english("Refuted if the inner loop runs only a few times."),
        worst=NOTE,
    ),
    WorkKind(
        key="copied_in_loop",
        doing=english("copying a whole collection in each round of a loop"),
        line=loop_shapes.copies_in_loop,
        is_native=True,
        remedy=english("Copy only what changes, or change the collection in place and undo the change."),
        refutation=english("Refuted if the collection is small."),
        worst=NOTE,
    ),
    WorkKind(
        key="printed",
        doing=english("printing"),
        line=lambda line: shapes.prints(line) and line.loop is not None,
        remedy=english("Print less often, or collect the text and write it in large pieces."),
        refutation=english("Refuted if the program is as slow with its output sent to /dev/null."),
        worst=NOTE,
    ),
    WorkKind(
        key="serialized",
        doing=english("serializing or parsing"),
        frames=re.compile(
            r"(^|/)(json/\w+|pickle|marshal|xml/etree/ElementTree|csv|configparser|tomllib/\w+)\.py:"
        ),
        line=shapes.serializes,
        remedy=english("Do it once per object, for less data, or with a faster format or library."),
        refutation=english("Refuted if every object is different and needed in full."),
        worst=NOTE,
    ),
)
