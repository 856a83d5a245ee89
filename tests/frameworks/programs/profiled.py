"""Trains a few steps with a profiler that people know: profiled.py lightning | hugging-face | paddle | ….

paddle-reads FILE counts what Paddle reads in a file of its own format.
"""

import collections
import contextlib
import json
import sys
import tempfile
import time

RECORDED = (3, 6)
STEPS = 8


def no_export(_profiler):
    """The recording around this program has it all."""


def lightning():
    import lightning
    import torch

    from warpline.integrations.lightning import LightningProfiler

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 2)

        def training_step(self, batch, index):
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    profiler = LightningProfiler(scheduler=RECORDED, on_trace_ready=no_export)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(max_steps=STEPS, callbacks=[profiler], accelerator="cpu", **quiet)
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.randn(64, 8), batch_size=4))
    return profiler.profiler.step_num


def hugging_face():
    import torch
    from transformers import Trainer, TrainingArguments

    from warpline.integrations.huggingface import TrainerProfiler

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 2)

        def forward(self, x=None, labels=None):
            scores = self.layer(x)
            return {"loss": torch.nn.functional.cross_entropy(scores, labels), "logits": scores}

    profiler = TrainerProfiler(scheduler=RECORDED, on_trace_ready=no_export)
    samples = [{"x": torch.randn(8), "labels": torch.tensor(number % 2)} for number in range(128)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=STEPS,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
        )
        Trainer(Model(), arguments, train_dataset=samples, callbacks=[profiler]).train()
    return profiler.profiler.step_num


def paddle_net():
    import numpy as np
    import paddle

    class Images(paddle.io.Dataset):
        def __len__(self):
            return 4 * STEPS

        def __getitem__(self, index):
            return np.full((3, 32, 32), index, "float32"), np.int64(index % 10)

    layers = (
        paddle.nn.Conv2D(3, 16, 3),
        paddle.nn.ReLU(),
        paddle.nn.Flatten(),
        paddle.nn.Linear(16 * 30 * 30, 10),
    )
    net = paddle.nn.Sequential(*layers)
    optimizer = paddle.optimizer.Adam(learning_rate=0.001, parameters=net.parameters())
    import paddle.profiler as theirs

    import warpline.compat.paddle as ours

    # Both at once: two runs differ by more than two profilers.
    profilers = [
        made.Profiler(targets=[made.ProfilerTarget.CPU], scheduler=RECORDED, on_trace_ready=no_export)
        for made in (theirs, ours)
    ]
    clock_ms = collections.Counter()

    @contextlib.contextmanager
    def clocked(phase, step):
        began = time.perf_counter()
        yield
        if RECORDED[0] <= step < RECORDED[1]:
            clock_ms[phase] += (time.perf_counter() - began) * 1e3

    for profiler in profilers:
        profiler.start()
    batches = iter(paddle.io.DataLoader(Images(), batch_size=4))
    for step in range(STEPS):
        with clocked("Dataloader", step):
            images, labels = next(batches)
        with clocked("Forward", step):
            scores = net(images)
        loss = paddle.nn.functional.cross_entropy(scores, labels)
        with clocked("Backward", step):
            loss.backward()
        with clocked("Optimization", step):
            optimizer.step()
        optimizer.clear_grad()
        for profiler in profilers:
            profiler.step(num_samples=4)
    for profiler in profilers:
        profiler.stop()
    profilers[0].summary(views=[theirs.SummaryView.ModelView])
    print(json.dumps(clock_ms))
    return profilers[1].step_num


def paddle_older():
    """Paddle's older profiler, whose printer Paddle still has, between two times of the monotonic clock."""
    import paddle
    from paddle.base import core

    layers = paddle.nn.Conv2D(3, 16, 3), paddle.nn.ReLU(), paddle.nn.Flatten(), paddle.nn.Linear(16 * 900, 10)
    net = paddle.nn.Sequential(*layers)
    optimizer = paddle.optimizer.Adam(learning_rate=0.001, parameters=net.parameters())
    began = time.monotonic_ns()
    core.enable_profiler(core.ProfilerState.kCPU)
    for _step in range(STEPS):
        net(paddle.rand([4, 3, 32, 32])).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    core.disable_profiler(core.EventSortingKey.kTotal, tempfile.mktemp())
    sys.stdout.flush()
    print(json.dumps([began, time.monotonic_ns()]))
    return STEPS


def paddle_details():
    """Shapes and memory by both profilers; Paddle's are written as JSON into a folder of the working directory."""
    import paddle
    import paddle.profiler as theirs

    import warpline.compat.paddle as ours

    options = {"scheduler": RECORDED, "record_shapes": True, "profile_memory": True}
    profilers = [
        theirs.Profiler(
            targets=[theirs.ProfilerTarget.CPU],
            on_trace_ready=theirs.export_chrome_tracing("theirs"),
            **options,
        ),
        ours.Profiler(targets=[ours.ProfilerTarget.CPU], on_trace_ready=no_export, **options),
    ]
    net = paddle.nn.Sequential(
        paddle.nn.Conv2D(3, 16, 3), paddle.nn.Flatten(), paddle.nn.Linear(16 * 900, 10)
    )
    for profiler in profilers:
        profiler.start()
    for _step in range(STEPS):
        net(paddle.rand([4, 3, 32, 32])).mean().backward()
        for profiler in profilers:
            profiler.step()
    for profiler in profilers:
        profiler.stop()
    return STEPS


def paddle_reads():
    """What Paddle finds in a file of its format: for each type, how many events; then shapes, and allocations."""
    import paddle

    found = collections.Counter()

    def count(node):
        found[node.type.name] += 1
        found["shapes"] += bool(node.input_shapes)
        found["memory"] += len(node.mem_node)
        for child in node.children_node:
            count(child)

    result = paddle.profiler.load_profiler_result(sys.argv[2])  # owns the nodes
    for root in result.get_data().values():
        count(root)
    print(json.dumps(found))
    return STEPS


PROGRAMS = {
    "paddle-details": paddle_details,
    "paddle-reads": paddle_reads,
    "lightning": lightning,
    "hugging-face": hugging_face,
    "paddle": paddle_net,
    "paddle-older": paddle_older,
}
print("steps:", PROGRAMS[sys.argv[1]]())
