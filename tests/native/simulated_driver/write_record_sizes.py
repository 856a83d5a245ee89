"""Write ``record_sizes.h``: how many bytes each activity record has, by version of CUPTI.

``python write_record_sizes.py FOLDER``, where FOLDER holds wheels of NVIDIA's headers::

    pip download --no-deps -d FOLDER nvidia-cuda-cupti-cu11==11.8.87
    pip download --no-deps -d FOLDER nvidia-cuda-cupti-cu12==12.9.79
    pip download --no-deps -d FOLDER nvidia-cuda-cupti==13.5.25

A C compiler measures the structures; only the resulting numbers are kept here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

OUTPUT = Path(__file__).with_name("record_sizes.h")
STRUCTURES = {
    1: "Memcpy",
    2: "Memset",
    4: "API",
    5: "API",
    8: "Device",
    9: "Context",
    10: "Kernel",
    17: "Overhead",
    22: "MemcpyPtoP",
    37: "Stream",
    38: "Synchronization",
    39: "ExternalCorrelation",
    49: "Memory",
    51: "GraphTrace",
}
"""The structure of each activity kind. Its highest number is the one that this version writes."""

# The CUPTI packages do not contain cuda.h. Its types only matter here by their size.
CUDA_H = """
#pragma once
#include <stddef.h>
#include <stdint.h>
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUfunc_st *CUfunction;
typedef struct CUmod_st *CUmodule;
typedef struct { char bytes[16]; } CUuuid;
typedef int CUdevice, CUresult, CUgraphNodeType, CUdevice_attribute, CUfunc_cache, CUstreamAttrID;
typedef struct CUstreamAttrValue_st CUstreamAttrValue;
typedef struct CUaccessPolicyWindow_st CUaccessPolicyWindow;
typedef unsigned long long CUdeviceptr;
"""


def newest(headers: str, name: str) -> str:
    """The structure's name with its highest number."""
    numbers = [int(number or 1) for number in re.findall(rf"}} *CUpti_Activity{name}(\d*);", headers)]
    return f"CUpti_Activity{name}{max(numbers) if max(numbers) > 1 else ''}"


def measure(wheel: Path) -> tuple[str, int, dict[int, int]]:
    """The version, the API version, and the size of each kind's record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(wheel) as archive:
            headers = [entry for entry in archive.namelist() if entry.endswith(".h")]
            archive.extractall(folder, headers)
        include = next(folder.rglob("cupti_activity.h")).parent
        for name in ("cuda.h", "builtin_types.h"):
            (folder / name).write_text(CUDA_H)
        (folder / "measure.c").write_text(
            "#include <stdio.h>\n#include <cupti_version.h>\n#include <cupti_activity.h>\nint main(void) {\n"
            'printf("%d\\n", CUPTI_API_VERSION);\n'
            + "".join(
                f'printf("{kind} %zu\\n", sizeof({newest((include / "cupti_activity.h").read_text(), name)}));\n'
                for kind, name in STRUCTURES.items()
            )
            + "return 0; }\n"
        )
        program = folder / "measure"
        subprocess.run(
            ["cc", "-w", f"-I{folder}", f"-I{include}", "-o", program, folder / "measure.c"], check=True
        )
        first, *lines = subprocess.run(
            [program], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    version = ".".join(wheel.name.split("-")[1].split(".")[:2])
    return version, int(first), {int(kind): int(size) for kind, size in map(str.split, lines)}


def main(folder: Path) -> None:
    rows = {
        wheel.name.split("-")[1]: (wheel, measure(wheel)) for wheel in folder.glob("nvidia_cuda_cupti*.whl")
    }
    ordered = [
        rows[version] for version in sorted(rows, key=lambda text: [int(part) for part in text.split(".")])
    ]
    lines = [
        "/* Bytes of each activity record, by version of CUPTI. Written by write_record_sizes.py, which measured the",
        " * headers of these PyPI packages by NVIDIA:",
        *(
            f" *   {wheel.name.split('-')[0].replace('_', '-')} {wheel.name.split('-')[1]}"
            for wheel, _measured in ordered
        ),
        " * A size is that of the newest structure of the kind in cupti_activity.h. */",
        "/* clang-format off */",
        "#include <stdint.h>",
        "",
        "static const struct version {",
        "    const char *name;",
        "    uint32_t api;",
        f"    uint16_t sizes[{max(STRUCTURES) + 1}];",
        "} versions[] = {",
    ]
    for _wheel, (version, api, sizes) in ordered:
        cells = ", ".join(f"[{kind}]={size}" for kind, size in sizes.items())
        lines.append(f'    {{"{version}", {api}, {{{cells}}}}},')
    OUTPUT.write_text("\n".join([*lines, "};", "/* clang-format on */", ""]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
