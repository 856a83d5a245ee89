"""The table of known kinds of work: how each is recognized, and what helps."""

from __future__ import annotations

import re

from warpline.analysis.findings.finding import Severity
from warpline.analysis.findings.work import kept_graphs, loop_shapes, queries, shapes, whole_history
from warpline.analysis.findings.work.kind import WorkKind
from warpline.analysis.findings.work.noted_kinds import NOTED_KINDS
from warpline.analysis.findings.work.source_lines import SourceLine
from warpline.i18n import english

WARNING, NOTE = Severity.WARNING, Severity.NOTE


_HASHES = re.compile(
    r"^(hashlib|zlib|gzip|bz2|lzma|zstandard)\.|\.(hexdigest|digest|compress|decompress|pbkdf2_hmac)$"
)


def _frames(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(^|/)({pattern})")


KINDS: tuple[WorkKind, ...] = (
    # The first match counts: special kinds stand before general ones.
    WorkKind(
        key="regex_compiled",
        doing=english("compiling regular expressions"),
        frames=_frames(r"(re/_compiler|re/_parser|sre_compile|sre_parse)\.py:"),
        remedy=english(
            "Compile each pattern once, outside the loop, with re.compile. Python caches only 512 patterns."
        ),
        refutation=english("Refuted if each pattern is compiled only once, at the start."),
    ),
    WorkKind(
        key="deepcopy",
        doing=english("copying objects with copy.deepcopy"),
        frames=_frames(r"copy\.py:(deepcopy|_deepcopy|_reconstruct|_keep_alive)"),
        line=lambda line: any(name.rpartition(".")[2] == "deepcopy" for name, _ in line.calls),
        remedy=english("Copy only what changes, or undo the change afterwards, or use immutable values."),
        refutation=english("Refuted if every copied object is changed as a whole afterwards."),
    ),
    WorkKind(
        key="copied_by_serializing",
        doing=english("copying objects by serializing and parsing them"),
        line=shapes.copies_by_serializing,
        remedy=english("Copy the object directly, and only the part that changes."),
        refutation=english("Refuted if the round trip must check that the object can be serialized."),
    ),
    WorkKind(
        key="dates_parsed",
        doing=english("parsing dates with strptime"),
        frames=_frames(r"_strptime\.py:|dateutil/parser/"),
        line=lambda line: any(name.endswith(".strptime") for name, _ in line.calls),
        remedy=english("Use datetime.fromisoformat, or cache the result for each distinct text."),
        refutation=english("Refuted if fromisoformat is not faster on the same texts."),
    ),
    WorkKind(
        key="backtracking",
        doing=english("matching a regular expression that nests unlimited repeats"),
        line=shapes.backtracks,
        remedy=english(
            "Remove the inner or the outer repeat, or use a possessive one (a++): matching backtracks "
            "exponentially."
        ),
        refutation=english("Refuted if the time for a match grows in proportion to the length of the text."),
    ),
    WorkKind(
        key="logging",
        doing=english("logging"),
        frames=_frames(r"logging/\w+\.py:|loguru/|structlog/"),
        remedy=english(
            "Raise the log level, log once per batch, or hand records to a QueueHandler in another thread."
        ),
        refutation=english("Refuted if the program is as slow at a higher log level."),
    ),
    WorkKind(
        key="decompressed_again",
        doing=english("seeking in a compressed file, which decompresses all that lies before"),
        frames=_frames(
            r"(gzip|bz2|lzma|_compression|_streams)\.py:(\w+\.)?(seek|rewind|_rewind)"
            r"|zipfile(/__init__)?\.py:ZipExtFile\.seek"
        ),
        remedy=english(
            "Read the file once in order: sort the requests by position, keep what is needed in memory, or unpack the "
            "file first."
        ),
        refutation=english("Refuted if it seeks only forward."),
    ),
    WorkKind(
        key="stack_inspected",
        doing=english("inspecting or formatting the call stack"),
        frames=_frames(r"(inspect|traceback|linecache)\.py:"),
        remedy=english(
            "Do not inspect the stack in a loop: pass the name on, or use sys._getframe for one frame."
        ),
        refutation=english("Refuted if this happens only for rare errors."),
    ),
    WorkKind(
        key="busy_clock",
        doing=english("reading the clock in a loop until a time is reached (busy waiting)"),
        line=shapes.spins_on_a_clock,
        remedy=english(
            "Sleep until then: time.sleep(deadline - now); spin only for the last fraction of a millisecond."
        ),
        refutation=english("Refuted if the loop ends after a few readings."),
        has_gain=False,
    ),
    WorkKind(
        key="busy_waiting",
        doing=english("testing in a loop whether something has happened (busy waiting)"),
        frames=_frames(
            r"queue\.py:(Queue\.)?(get_nowait|empty|qsize)|multiprocessing/queues\.py:Queue\.empty"
        ),
        line=shapes.spins,
        remedy=english("Wait for the event itself: Event.wait, Condition.wait, queue.get or future.result."),
        refutation=english("Refuted if the loop ends after a few tests."),
        has_gain=False,
    ),
    WorkKind(
        key="garbage_collected",
        doing=english("garbage collection (gc.collect)"),
        line=shapes.collects_garbage,
        remedy=english("Remove gc.collect from the loop, or call gc.freeze() once before it."),
        refutation=english("Refuted if memory grows without bound when gc.collect is removed."),
    ),
    WorkKind(
        key="list_scanned",
        doing=english("searching a list item by item, which takes longer as the list grows"),
        line=shapes.scans_list,
        remedy=english("Use a set or dict: looking up takes the same time for any size."),
        refutation=english("Refuted if the list has only a few items."),
    ),
    WorkKind(
        key="list_shifted",
        doing=english("removing or adding at the front, which moves all other items"),
        line=shapes.shifts_list,
        is_native=True,
        remedy=english("Use collections.deque, an index that advances, or a memoryview for bytes."),
        refutation=english("Refuted if the sequence has only a few items."),
    ),
    WorkKind(
        key="text_grown",
        doing=english("adding to a text with +=, which copies the whole text each time"),
        line=shapes.grows_text,
        is_native=True,
        remedy=english("Collect the parts in a list and join them once, or write to io.StringIO."),
        refutation=english("Refuted if the text stays short."),
    ),
    WorkKind(
        key="copied_to_grow",
        doing=english("growing a list or array by copying all of it each time"),
        line=shapes.grows_copy,
        frames=_frames(
            r"numpy/lib/\w+\.py:(append|insert)|pandas/core/\w+\.py:(DataFrame\.)?(append|_append)"
        ),
        remedy=english("Append to a list and convert once, or allocate the array at full size."),
        refutation=english("Refuted if the array has only a few items."),
    ),
    WorkKind(
        key="sorted_again",
        doing=english("sorting or searching through the same collection again in each round of a loop"),
        line=shapes.sorts_in_loop,
        remedy=english("Sort once, or keep order with heapq or bisect; keep a running sum or minimum."),
        refutation=english("Refuted if the collection is a different one in each round."),
    ),
    WorkKind(
        key="whole_history",
        doing=english("computing again over everything collected so far, which costs more with each step"),
        line=whole_history.computes_over_history,
        remedy=english(
            "Update running values with each step (a sum, a count, a histogram, a sorted list), compute over the last "
            "steps only, or compute every N steps."
        ),
        refutation=english("Refuted if the collection stays small, or if this runs only a few times."),
    ),
    WorkKind(
        key="rows_iterated",
        doing=english("going through a table row by row in Python"),
        frames=_frames(
            r"pandas/core/(frame\.py:(DataFrame\.)?(iterrows|itertuples)|apply\.py:|indexing\.py:)"
            r"|numpy/lib/\w+\.py:(vectorize|apply_along_axis|apply_over_axes)"
        ),
        remedy=english("Use operations on whole columns or arrays."),
        refutation=english("Refuted if the table has only a few rows."),
    ),
    WorkKind(
        key="searched_linearly",
        doing=english("searching a collection item by item, again for each search"),
        line=loop_shapes.searches_linearly,
        remedy=english(
            "Build a dict once, keyed by what is searched for: a lookup takes the same time for any size."
        ),
        refutation=english("Refuted if the collection has only a few items, or is searched once."),
        worst=WARNING,
    ),
    WorkKind(
        key="sequence_searched",
        doing=english("searching a sequence item by item (index), again for each search"),
        line=loop_shapes.scans_sequence,
        is_native=True,
        remedy=english(
            "Build a dict once that maps each value to its position: a lookup takes the same time for any size."
        ),
        refutation=english("Refuted if the sequence has only a few items."),
        worst=WARNING,
    ),
    WorkKind(
        key="elements",
        doing=english("going through single elements of an array in a Python loop"),
        line=loop_shapes.loops_over_elements,
        remedy=english(
            "Vectorize the loop: one operation on whole arrays, such as bincount, where, cumsum or a matrix product."
        ),
        refutation=english("Refuted if the loop runs only a few times."),
    ),
    WorkKind(
        key="kept_graph",
        doing=english("backward passes through the graphs of earlier steps, which are kept"),
        line=kept_graphs.goes_back_through_old_graphs,
        remedy=english(
            "Call backward on each loss alone, without retain_graph, and add loss.item() or loss.detach() to sums; "
            "detach a state that is carried over to the next step."
        ),
        refutation=english("Refuted if the backward pass takes as long without retain_graph."),
        stays=0.1,
        worst=WARNING,
    ),
    WorkKind(
        key="hashed",
        doing=english("hashing or compressing"),
        line=lambda line: any(_HASHES.search(name) for name, _ in line.calls),
        remedy=english(
            "Do it once per content, at a lower level, with a faster algorithm, or in threads: it releases the GIL."
        ),
        when_spread=english(
            "Every core does it already: only less of it helps, such as a lower level or a faster algorithm."
        ),
        refutation=english("Refuted if every content is new and needs this algorithm."),
        worst=NOTE,
    ),
    WorkKind(
        key="rest_copied",
        doing=english("copying the rest of a text or list in each round of a loop (slicing)"),
        line=loop_shapes.slices_rest,
        is_native=True,
        remedy=english(
            "Pass the position on instead of a slice, or slice a memoryview, which copies nothing."
        ),
        refutation=english("Refuted if the text or list is short."),
        worst=WARNING,
    ),
    WorkKind(
        key="texts_compared",
        doing=english("comparing texts with difflib, which takes quadratic time"),
        frames=_frames(r"difflib\.py:"),
        remedy=english("Compare less text, or test quick_ratio first, or use a native library."),
        refutation=english("Refuted if the texts are short."),
    ),
    WorkKind(
        key="warned",
        doing=english("issuing warnings"),
        frames=_frames(r"warnings\.py:"),
        remedy=english("Cure the cause of the warnings, or filter them: a warning inspects the stack."),
        refutation=english("Refuted if the program is as slow with warnings turned off."),
        worst=WARNING,
    ),
    WorkKind(
        key="serialized_again",
        doing=english("serializing or parsing the same object again in each round of a loop"),
        line=shapes.serializes_constant,
        remedy=english("Do it once before the loop and reuse the result."),
        refutation=english("Refuted if the object changes between rounds."),
    ),
    WorkKind(
        key="slow_yaml",
        doing=english("parsing YAML in pure Python"),
        frames=_frames(r"yaml/(scanner|parser|composer|reader|constructor|emitter|serializer)\.py:"),
        remedy=english("Use yaml.CSafeLoader, or convert the file to JSON once."),
        refutation=english("Refuted if CSafeLoader takes as long."),
    ),
    WorkKind(
        key="tls_context",
        doing=english("setting up TLS for each connection"),
        frames=_frames(r"ssl\.py:(create_default_context|SSLContext\.load)"),
        remedy=english("Reuse one session or SSLContext for all connections."),
        refutation=english("Refuted if the program makes only one connection."),
    ),
    WorkKind(
        key="paths_looked_up",
        doing=english("looking up paths in the file system"),
        frames=_frames(r"(genericpath|posixpath|glob|fnmatch|pathlib(/\w+)?|os)\.py:"),
        remedy=english("List each folder once (os.scandir) and keep the result."),
        refutation=english("Refuted if every path is looked up once."),
        worst=WARNING,
    ),
    WorkKind(
        key="fractions",
        doing=english("exact arithmetic in pure Python (fractions, statistics)"),
        frames=_frames(r"(fractions|statistics)\.py:"),
        remedy=english("Use float, int or numpy where exact results are not needed."),
        refutation=english("Refuted if the results must be exact."),
        worst=WARNING,
    ),
    WorkKind(
        key="enums",
        doing=english("creating or combining enum members"),
        frames=_frames(r"enum\.py:"),
        remedy=english("Look up the members once outside the loop, or use plain integers inside it."),
        refutation=english("Refuted if the loop does not use enums."),
        worst=WARNING,
    ),
    WorkKind(
        key="copied_fields",
        doing=english("copying dataclasses with dataclasses.asdict"),
        frames=_frames(r"dataclasses\.py:(asdict|astuple|_asdict_inner|_astuple_inner)"),
        remedy=english("Read the fields directly: asdict copies everything inside as well."),
        refutation=english("Refuted if the copies are changed afterwards."),
    ),
    WorkKind(
        key="flushed",
        doing=english("printing and flushing"),
        line=shapes.flushes,
        remedy=english("Print less often, or collect the text and write it in large pieces; do not flush."),
        refutation=english("Refuted if the program is as slow with its output sent to /dev/null."),
    ),
    WorkKind(
        key="converted",
        doing=english("converting between lists, arrays, tensors, types or devices"),
        frames=_frames(r"(pandas/core/.*:.*\.?(astype|to_numpy|tolist)|torch/_tensor\.py:.*__array__)$"),
        line=shapes.converts,
        is_native=True,
        remedy=english(
            "Convert once, outside the loop or when the data is made, and keep it in one dtype on one device."
        ),
        refutation=english("Refuted if each value must be converted exactly once."),
        worst=WARNING,
    ),
    WorkKind(
        key="recursion",
        doing=english("a function that calls itself several times"),
        line=shapes.recurses_twice,
        remedy=english("If it gets the same arguments repeatedly, add functools.cache."),
        refutation=english("Refuted if the arguments never repeat."),
        worst=NOTE,
    ),
    WorkKind(
        key="scanned_table",
        doing=english("a database query on columns without an index, which reads the whole table each time"),
        line=queries.scans_a_table,
        remedy=english(
            "Create an index on the columns that WHERE compares; EXPLAIN QUERY PLAN must then say SEARCH, not SCAN."
        ),
        refutation=english("Refuted if EXPLAIN QUERY PLAN says SEARCH, or if the table has only a few rows."),
    ),
    *NOTED_KINDS,
)


def kind_of(callees: tuple[str, ...], line: SourceLine | None) -> WorkKind | None:
    """The first kind that matches the library frames (``file:function``) or the source of a line."""
    for kind in KINDS:
        if kind.frames is not None and any(kind.frames.search(callee) for callee in callees):
            return kind
        if kind.is_native and callees:
            continue
        if kind.line is not None and line is not None and kind.line(line):
            return kind
    return None
