"""Build hook: compiles the recording agent (on Linux) and the helpers, and puts ``resources/`` and the pages of
``docs/`` into the wheel.

Without a compiler the wheel is pure Python: only recording needs the agent, and the helpers only make things faster.
``warpline doctor`` says what is compiled. With ``WARPLINE_NATIVE=later`` an editable install compiles nothing: the
caller does. ``WARPLINE_WHEEL_PLATFORM`` is the wheel's platform tag; ``any`` compiles
nothing.
"""

from __future__ import annotations

import importlib.util
import os
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def _build_native(root: Path) -> ModuleType:
    # The build backend does not put the project's folder on sys.path.
    spec = importlib.util.spec_from_file_location("build_native", root / "scripts" / "build_native.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class WarplineBuildHook(BuildHookInterface[Any]):
    """Runs for wheels, both standard and editable."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        native = _build_native(root)
        if version == "editable":
            if os.environ.get("WARPLINE_NATIVE") == "later":
                return
            # The checkout is what gets imported, so the library must lie in it; resources are found there too.
            native.build(root, root / native.PACKAGE_FOLDER)
            for helper in native.HELPERS:
                native.build_helper(helper, root, root / helper.folder)
            return
        resources = root / "resources"
        if resources.is_dir():
            build_data["force_include"][str(resources)] = "warpline/_resources"
        docs = root / "docs"
        for page in sorted([*docs.glob("*.md"), *docs.glob("tutorials/*.*"), *docs.glob("schemas/*.json")]):
            build_data["force_include"][str(page)] = f"warpline/_docs/{page.relative_to(docs).as_posix()}"
        # A new folder each time, since the compiler and its flags may have changed.
        self._scratch = tempfile.TemporaryDirectory(prefix="warpline-build-")
        scratch = Path(self._scratch.name)
        platform = os.environ.get("WARPLINE_WHEEL_PLATFORM", "")
        libraries: dict[Path, str] = {}
        if platform != "any":
            agent = native.build(root, scratch)
            if agent is not None:
                libraries[agent] = native.PACKAGE_NAME
            for helper in native.HELPERS:
                built = native.build_helper(helper, root, scratch)
                if built is not None:
                    libraries[built] = helper.package
        for library, package in libraries.items():
            build_data["force_include"][str(library)] = f"{package}/{library.name}"
        if native.PACKAGE_NAME not in libraries.values() and (native.SYSTEM == "linux" or platform == "any"):
            # The machine it is installed on may have a compiler: the first recording compiles the agent there.
            for folder in native.agent_folders(root):
                for source in sorted(folder.glob("*.[ch]")):
                    place = source.relative_to(root / "capture")
                    build_data["force_include"][str(source)] = place.as_posix()
        if libraries:
            build_data["pure_python"] = False
            # No symbol of Python's is used: one library serves every Python of this platform.
            platform = platform or sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._scratch.cleanup()
