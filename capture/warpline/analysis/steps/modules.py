"""The modules of a network with calls and times."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import ratio, ratios, scope_text
from warpline.analysis.structure.modules import (
    IN_TRACES,
    KEPT,
    MODULE_KINDS,
    ModuleTree,
    first_texts,
    has_modules,
    has_no_times,
    module_tree,
)
from warpline.i18n import english


def modules(view: View, _options: Options) -> Table | NotRecorded:
    """Modules as a tree of calls: class, calls, time and own time."""
    if not has_modules(view):
        return missing("module")
    tree = module_tree(view)
    if has_no_times(view):
        return _network(view, tree)
    outermost = int(tree.total_ns[tree.level == 0].sum())
    above = np.maximum(tree.parent, 0)
    whole = np.where(tree.parent >= 0, tree.total_ns[above] if len(tree) else 0, outermost)
    columns = [
        Column("name", "Module", Role.NAME, key=True),
        Column("class_name", "Class", Role.TEXT),
        Column("count", "Calls", Role.COUNT),
        Column("total_ns", "Time", Role.DURATION),
        Column("avg_ns", "Average", Role.DURATION),
        Column("self_ns", "Own time", Role.DURATION),
        Column("self_ratio", "Own time", Role.RATIO, of=english("the time of all modules")),
        Column(
            "ratio",
            "Time",
            Role.SHARE,
            of=english("the module above, or all outermost modules"),
            heat=True,
            lead=1,
        ),
    ]
    data: dict[str, Values] = {
        "name": [text.removeprefix(IN_TRACES) for text in view.capture.strings.get(tree.name.tolist())],
        "class_name": tree.class_name,
        "count": tree.count,
        "total_ns": tree.total_ns,
        "avg_ns": tree.total_ns / np.maximum(tree.count, 1),
        "self_ns": tree.self_ns,
        "self_ratio": ratio(tree.self_ns, outermost),
        "ratio": ratios(tree.total_ns, whole),
    }
    if view.has(*GPU_KINDS):
        columns += [
            Column("gpu_total_ns", "GPU time", Role.DURATION),
            Column("gpu_self_ns", "Own GPU time", Role.DURATION),
        ]
        data |= {"gpu_total_ns": tree.gpu_ns, "gpu_self_ns": tree.self_gpu_ns}
    notes = [english("Own time excludes called modules.")]
    if tree.backward_ns.any():
        columns += [
            Column("backward_ns", "Backward", Role.DURATION),
            Column("backward_self_ns", "Own backward", Role.DURATION),
        ]
        data |= {"backward_ns": tree.backward_ns, "backward_self_ns": tree.self_backward_ns}
        notes.append(english("Backward is the time of the derivatives of a module's forward operators."))
    else:
        notes.append(
            english(
                "Backward of modules is not recorded: no links between forward and backward operators."
                " For PyTorch, --trace torch records them; Paddle does not provide them."
            )
        )
    if tree.flops.any():
        columns.append(Column("flops", "FLOPs", Role.COUNT))
        data["flops"] = tree.flops
        notes.append(english("FLOPs cover calls whose operators were recorded with shapes."))
    if _add_kept(view, tree, columns, data):
        notes.append(english("Memory is the average growth of allocated memory during a call."))
    if tree.is_cut:
        notes.append(english("There are too many modules; the deepest are omitted."))
    return Table(
        tuple(columns),
        data,
        depth=tree.level.astype(np.int32),
        targets=Targets(names=tree.name.astype(np.uint32), kinds=tree.kind.astype(np.int16)),
        scope=scope_text(view, english("Calls of modules")),
        notes=tuple(notes),
    )


_TITLES = {
    "gpu_kept_bytes": (english("GPU memory per call"), english("Own GPU memory per call")),
    "host_kept_bytes": (english("Host memory per call"), english("Own host memory per call")),
    "parameters": (english("Parameters"), english("Own parameters")),
}


def _network(view: View, tree: ModuleTree) -> Table:
    """The layers of a network that did not run: parameters and shapes, no times."""
    columns = [
        Column("name", "Module", Role.NAME, key=True),
        Column("class_name", "Class", Role.TEXT),
        Column("count", "Calls", Role.COUNT),
    ]
    names = view.capture.strings.get(tree.name.tolist())
    data: dict[str, Values] = {"name": names, "class_name": tree.class_name, "count": tree.count}
    _add_kept(view, tree, columns, data)
    order = _in_call_order(view, tree)
    for name, title in (
        ("input_shapes", english("Input shapes")),
        ("output_shapes", english("Output shapes")),
    ):
        columns.append(Column(name, title, Role.TEXT))
        shapes = first_texts(view, name)
        data[name] = [shapes.get(number, "") for number in tree.name.tolist()]
    return Table(
        tuple(columns),
        {
            name: values[order] if isinstance(values, np.ndarray) else [values[row] for row in order]
            for name, values in data.items()
        },
        depth=tree.level[order].astype(np.int32),
        targets=Targets(names=tree.name[order].astype(np.uint32), kinds=tree.kind[order].astype(np.int16)),
        scope=scope_text(view, english("Layers of a network")),
        notes=(english("The network did not run: times are not recorded; record a run for them."),),
    )


def _in_call_order(view: View, tree: ModuleTree) -> list[int]:
    """Rows of the tree by first call, which is depth first; the tree's own order where modules have several places."""
    calls = view.events("module")
    first = dict(zip(view.names(calls.row[::-1]).tolist(), calls.start[::-1].tolist(), strict=True))
    rows = list(range(len(tree)))
    if len(first) < len(tree):
        return rows
    return sorted(rows, key=lambda row: first.get(int(tree.name[row]), 0))


def _add_kept(view: View, tree: ModuleTree, columns: list[Column], data: dict[str, Values]) -> bool:
    """Add columns of memory growth and parameters per call. Returns whether any growth was recorded."""
    calls = np.maximum(tree.count, 1)
    recorded = view.capture.kinds["module"].attributes if "module" in view.capture.kinds else ()
    names = [name for name in KEPT if name in recorded]
    for name in names:
        own = name.replace("kept", "self_kept") if "kept" in name else f"self_{name}"
        role = Role.COUNT if name == "parameters" else Role.SIZE
        whole_title, own_title = _TITLES[name]
        columns += [Column(name, whole_title, role), Column(own, own_title, role)]
        data |= {name: tree.kept[name] / calls, own: tree.self_kept[name] / calls}
        if role is Role.COUNT:
            data |= {name: tree.kept[name] // calls, own: tree.self_kept[name] // calls}
    return any(name != "parameters" for name in names)


report = ReportSpec("modules", "Network modules", "framework", modules, needs=MODULE_KINDS, place=215)
