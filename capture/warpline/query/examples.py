"""Questions that people ask, in SQL; ``warpline query --examples`` prints them."""

from __future__ import annotations

from dataclasses import dataclass

from warpline.i18n import english


@dataclass(frozen=True)
class Example:
    """A question and its query."""

    title: str
    sql: str


def _e(title: str, sql: str) -> Example:
    return Example(title, sql.strip("\n"))


EXAMPLES: tuple[Example, ...] = (
    _e(
        english("What was recorded?"),
        """
SELECT kind, count(*) AS events, sum(dur) AS total
FROM events GROUP BY kind ORDER BY events DESC""",
    ),
    _e(
        english("Which kernels take the most time?"),
        """
SELECT name, count(*) AS calls, sum(dur) AS total
FROM kernel GROUP BY name ORDER BY total DESC""",
    ),
    _e(
        english("How long do the calls of each kernel take?"),
        """
SELECT name, count(*) AS calls, min(dur) AS shortest, median(dur) AS middle,
       quantile_cont(dur, 0.99) AS p99, max(dur) AS longest
FROM kernel GROUP BY name ORDER BY sum(dur) DESC""",
    ),
    _e(
        english("How long is each GPU busy?"),
        """
SELECT device, sum(dur) AS busy,
       sum(dur) / (SELECT value::BIGINT FROM meta WHERE key = 'duration_ns') AS ratio
FROM device_busy GROUP BY device ORDER BY device""",
    ),
    _e(
        english("What does each stream do?"),
        """
SELECT t.device, t.stream, count(*) AS kernels, sum(k.dur) AS total
FROM kernel k JOIN tracks t ON t.id = k.track_id
GROUP BY t.device, t.stream ORDER BY total DESC""",
    ),
    _e(
        english("How much is copied, and how fast?"),
        """
SELECT copy_kind, count(*) AS copies, sum(bytes) AS bytes, sum(dur) AS total,
       sum(bytes) / nullif(sum(dur), 0) AS gb_per_s
FROM memcpy GROUP BY copy_kind ORDER BY total DESC""",
    ),
    _e(
        english("Which CUDA calls take the most time?"),
        """
SELECT name, count(*) AS calls, sum(dur) AS total, max(dur) AS longest
FROM cuda_api GROUP BY name ORDER BY total DESC""",
    ),
    _e(
        english("Which kernels wait longest after their launch?"),
        """
SELECT k.name, count(*) AS launches, avg(l.delay) AS mean_delay, max(l.delay) AS longest_delay
FROM launches l JOIN kernel k ON k.id = l.id
GROUP BY k.name ORDER BY mean_delay DESC""",
    ),
    _e(
        english("Which kernels does each operator launch?"),
        """
SELECT o.name AS operator, k.name AS kernel, count(*) AS calls, sum(k.dur) AS total
FROM launches l
JOIN kernel k ON k.id = l.id
JOIN cuda_api c ON c.id = l.call_id
JOIN tracks ct ON ct.id = c.track_id
JOIN tracks ot ON ot.thread_id = ct.thread_id
JOIN operator o ON o.track_id = ot.id AND o.ts <= c.ts AND o.ts + o.dur >= c.ts + c.dur
WHERE o.depth = 0
GROUP BY ALL ORDER BY total DESC""",
    ),
    _e(
        english("Where are the longest gaps of each stream?"),
        """
SELECT track_id, ts + dur AS gap_ts, next_ts - (ts + dur) AS gap, name AS after
FROM (SELECT *, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS next_ts FROM kernel)
WHERE next_ts > ts + dur ORDER BY gap DESC LIMIT 20""",
    ),
    _e(
        english("How does GPU work change over time?"),
        """
SELECT bucket(ts, 100_000_000) AS ts, count(*) AS kernels, sum(dur) AS total
FROM kernel GROUP BY 1 ORDER BY 1""",
    ),
    _e(
        english("How long do two GPUs work at the same time?"),
        "SELECT sum(dur) AS both FROM device_intersection(0, 1)",
    ),
    _e(
        english("Which ranges take the most time, with and without those inside?"),
        """
SELECT name, count(*) AS calls, sum(dur) AS total, sum(self_dur) AS own
FROM range GROUP BY name ORDER BY total DESC""",
    ),
    _e(
        english("Which operators take the most time themselves?"),
        """
SELECT name, count(*) AS calls, sum(self_dur) AS own, sum(dur) AS total
FROM operator GROUP BY name ORDER BY own DESC""",
    ),
    _e(
        english("What runs in a moment?"),
        """
SELECT id, kind, name, ts, dur, track_id
FROM slice_at((SELECT max(ts + dur) // 2 FROM events)) ORDER BY track_id, depth""",
    ),
    _e(
        english("How long is each thread running, ready and blocked?"),
        """
SELECT t.tid, s.name AS state, count(*) AS times, sum(s.dur) AS total
FROM thread_state s JOIN tracks t ON t.id = s.track_id
GROUP BY t.tid, s.name ORDER BY total DESC""",
    ),
    _e(
        english("What do threads wait for, and where?"),
        """
SELECT wait, place, count(*) AS times, sum(dur) AS total
FROM waits GROUP BY wait, place ORDER BY total DESC""",
    ),
    _e(
        english("Which functions are on top of the stack most often?"),
        """
SELECT st.frame, count(*) AS samples
FROM sample s JOIN stacks st ON st.id = s.stack_id
GROUP BY st.frame ORDER BY samples DESC""",
    ),
    _e(
        english("What are the values of each counter?"),
        """
SELECT c.name, c.unit, min(s.value) AS lowest, avg(s.value) AS mean, max(s.value) AS highest
FROM counter_samples s JOIN counters c ON c.id = s.counter_id
GROUP BY c.id, c.name, c.unit ORDER BY c.name""",
    ),
    _e(
        english("Which kernels changed most between two captures?"),
        """
SELECT coalesce(x.name, y.name) AS name, x.total AS before, y.total AS after,
       coalesce(y.total, 0) - coalesce(x.total, 0) AS change
FROM (SELECT name, sum(dur) AS total FROM a.kernel GROUP BY name) x
FULL JOIN (SELECT name, sum(dur) AS total FROM b.kernel GROUP BY name) y USING (name)
ORDER BY abs(change) DESC""",
    ),
)
