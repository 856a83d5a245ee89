"""What hooks in frameworks record beside CUPTI."""

from __future__ import annotations

import importlib.util

from tests.gpu.checking import Bench, NotHere, counts, printed

import warpline


def check_framework(bench: Bench) -> None:
    """PyTorch's hooks beside CUPTI: steps, derivatives that another thread runs, copies, modules, shapes, memory."""
    if importlib.util.find_spec("pandas") is None:
        raise NotHere("pandas is not installed")
    command = bench.program("training.py", "--steps", "30")
    plain = bench.run([*command, "--count-kernels"])
    path, done = bench.record(command, "--trace", "cuda,steps,torch", "--torch-shapes", "3", "--torch-memory")
    bench.expect("exit status", 0, done.status)
    with warpline.open(path) as capture:
        steps = capture.report("steps").to_pandas()
        bench.expect("steps", "≥ 30", len(steps), len(steps) >= 30)
        bench.expect("steps with copies to the GPU", len(steps), int((steps.host_to_device_ns > 0).sum()))
        links = capture.links.to_pandas()
        links = links[links.kind == "forward_backward"]
        operators = capture.events("operator").to_pandas().set_index("row")
        nodes = operators.loc[links.to_row]
        bench.expect(
            "convolutions with a derivative",
            2 * len(steps),
            int((nodes.name == "ConvolutionBackward0").sum()),
        )
        forward = operators.loc[links.from_row]
        bench.tell(
            "threads of forward, of backward", (forward.thread_id.nunique(), nodes.thread_id.nunique())
        )
        modules = capture.report("modules").to_pandas()
        bench.expect(
            "GPU time and backward of the model",
            True,
            bool((modules[["gpu_total_ns", "backward_ns"]].max() > 0).all()),
        )
        kept = modules.gpu_kept_bytes.max() if "gpu_kept_bytes" in modules else 0
        bench.expect("GPU memory that calls of modules keep", True, bool(kept > 0))
        bench.expect(
            "kernels, against torch.profiler",
            printed(plain, "kernels"),
            str(counts(capture.storage).get("kernel", 0)),
        )
        bench.expect("operators with FLOPs", True, len(capture.report("operator_flops").to_pandas()) > 0)
        counted = {counter.name for counter in capture.counters if "tensors" in counter.name}
        bench.expect("counters of tensors", 3, len(counted))
