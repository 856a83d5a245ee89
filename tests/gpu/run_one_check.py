"""Runs one check in a process of its own, for `run_gpu_checks.py`; whatever happens in it becomes a row."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import traceback
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.gpu.catalogue import CHECKS  # noqa: E402  # after the path
from tests.gpu.checking import Bench, NotHere  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    args = parser.parse_args()
    with args.rows.open("a", encoding="utf-8") as rows:
        until = time.monotonic() + args.seconds
        bench = Bench(check=args.check, folder=args.folder, rows=rows, python=args.python, until=until)
        try:
            module = importlib.import_module(f"tests.gpu.{CHECKS[args.check].module}")
            getattr(module, f"check_{args.check}")(bench)
        except NotHere as reason:
            bench.write("not run", "–", f"because: {reason}", None)
        except Exception as error:  # a check that breaks is a row of the table
            traceback.print_exc()
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
            bench.write("failed", "–", text, False)


if __name__ == "__main__":
    main()
