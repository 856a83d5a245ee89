"""Checks the rules of the house: no circles of imports, no includes across rooms, no class name twice.

    python scripts/house.py            exits with 1 when a rule is broken

An import counts wherever it stands: at the top of a module, in a function, or for types alone. Crowded folders and long
modules are printed as notes: look whether they hold a second subject. They break no rule.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {"warpline": "capture", "warpline_app": "app"}
"""Import package, and the folder it is in."""
AGENT = Path("capture/warpline/recording/agent/native")
RECORDED = Path("capture/warpline/recording/sources")
"""Sources of recordings: each has its part of the agent in `native`."""
COMMON = Path("capture/warpline/interchange/framework/native")
"""C that the importers share."""
MOST_MODULES = 20
MOST_LINES = 400
_CODE = {".py", ".c", ".h"}
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_NO_MODULES = {"__init__.py", "__main__.py", "conftest.py"}


def tracked(root: Path = ROOT) -> list[Path]:
    """Files of the repository that are code, relative to its root; new ones that git does not ignore included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    names = {Path(name) for name in listed.stdout.split("\0") if name}
    return sorted(name for name in names if name.suffix in _CODE and (root / name).is_file())


def crowded(paths: Iterable[Path], most: int = MOST_MODULES) -> list[str]:
    """Folders that hold more modules than that, one kind of source counted at a time."""
    counts = Counter((path.parent, path.suffix == ".py") for path in paths if path.name not in _NO_MODULES)
    return [f"{folder}: {count} modules" for (folder, _), count in sorted(counts.items()) if count > most]


def too_long(paths: Iterable[Path], root: Path = ROOT, most: int = MOST_LINES) -> list[str]:
    """Modules with more lines than that."""
    lengths = ((path, len((root / path).read_bytes().splitlines())) for path in paths)
    return [f"{path}: {length} lines" for path, length in lengths if length > most]


def modules_of(paths: Iterable[Path]) -> dict[str, Path]:
    """Dotted names of the modules of both packages, with their paths."""
    found: dict[str, Path] = {}
    for path in paths:
        for package, folder in SOURCES.items():
            if path.suffix == ".py" and path.parts[:2] == (folder, package):
                parts = path.with_suffix("").parts[1:]
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(tree: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    """Modules of ours that a module imports by their absolute names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else str(node.module)


def graph_of(trees: Mapping[str, ast.AST], known: Mapping[str, Path]) -> dict[str, set[str]]:
    """Who imports whom."""
    return {name: set(imports_of(tree, known)) - {name} for name, tree in trees.items()}


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of modules that reach each other (strongly connected components, after Tarjan), sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            at = stack.index(name)
            members = sorted(stack[at:])
            del stack[at:]
            if len(members) > 1:
                found.append(members)

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return sorted(found)


def shortest(circle: list[str], graph: Mapping[str, set[str]]) -> list[str]:
    """The shortest way round inside a circle, back to where it began."""
    inside = set(circle)
    ways: list[list[str]] = []
    for begin in circle:
        reached = {begin: [begin]}
        queue = [begin]
        for name in queue:
            for other in sorted(graph[name] & inside):
                if other == begin:
                    ways.append([*reached[name], begin])
                elif other not in reached:
                    reached[other] = [*reached[name], other]
                    queue.append(other)
    return min(ways, key=len)


def shown(circle: list[str], graph: Mapping[str, set[str]]) -> str:
    """A circle with one way round."""
    return f"{len(circle)} modules, among them {' -> '.join(shortest(circle, graph))}"


def included(content: bytes) -> list[str]:
    """Headers of ours that C includes."""
    return [name.decode() for name in _INCLUDE.findall(content)]


def wrong_includes(includes: Mapping[Path, Iterable[str]]) -> list[str]:
    """Headers that a file may not include, by the C files of the packages and what each includes.

    A file includes headers of its own folder. A source of recordings also includes those of the agent, an importer
    those that importers share. Headers are looked up by name alone, so two of one name are wrong as well.
    """
    owners: defaultdict[str, list[Path]] = defaultdict(list)
    for path in includes:
        if path.suffix == ".h":
            owners[path.name].append(path)
    wrong = [f"{name}: {', '.join(map(str, paths))}" for name, paths in owners.items() if len(paths) > 1]
    for path, names in includes.items():
        for name in names:
            header = owners[Path(name).name][0] if owners[Path(name).name] else None
            if header is None:
                wrong.append(f"{path} includes {name}, which is nowhere")
            elif not _may_include(path.parent, header.parent):
                wrong.append(f"{path} includes {header}")
    return sorted(wrong)


def _may_include(folder: Path, other: Path) -> bool:
    if other.is_relative_to(AGENT):
        return folder.is_relative_to(AGENT) or folder.is_relative_to(RECORDED)
    return folder == other or (other == COMMON and folder.is_relative_to(COMMON.parents[1]))


def twice_named(trees: Mapping[str, ast.AST]) -> list[str]:
    """Public classes of modules that have a namesake in another module."""
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for module, tree in trees.items():
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners[node.name].append(module)
    return [f"{name}: {', '.join(where)}" for name, where in sorted(owners.items()) if len(where) > 1]


def main() -> int:
    """Prints what is wrong, and what deserves a look."""
    paths = tracked()
    known = modules_of(paths)
    trees = {name: ast.parse((ROOT / path).read_bytes()) for name, path in known.items()}
    graph = graph_of(trees, known)
    native = [path for path in paths if path.suffix != ".py" and path.parts[0] in SOURCES.values()]
    wrong = {
        "circles of imports": [shown(circle, graph) for circle in circles(graph)],
        "includes across rooms": wrong_includes(
            {path: included((ROOT / path).read_bytes()) for path in native}
        ),
        "classes of one name in two modules": twice_named(trees),
    }
    notes = {
        f"note: folders of more than {MOST_MODULES} modules": crowded(paths),
        f"note: modules of more than {MOST_LINES} lines": too_long(paths),
    }
    for title, entries in (wrong | notes).items():
        print(f"{title}: {len(entries) or 'none'}")
        for entry in entries:
            print(f"  {entry}")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
