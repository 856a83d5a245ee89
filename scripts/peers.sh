#!/usr/bin/env bash
# Installs other tools into an environment of their own and compares them with Warpline, over the same input in one run.
# Each is installed by itself: one that cannot be installed is left out of the tables, with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/peers
[ -x "$folder/bin/python" ] || .venv/bin/python -m venv "$folder"
for wanted in pyarrow polars duckdb perfetto HolisticTraceAnalysis torch-tb-profiler; do
    "$folder/bin/pip" show --quiet "$wanted" >/dev/null 2>&1 ||
        "$folder/bin/pip" install --quiet --no-input "$wanted" ||
        echo "$wanted cannot be installed here" >&2
done
exec .venv/bin/python tests/benchmarks/peers/bench_peers.py --peers "$folder/bin/python" "$@"
