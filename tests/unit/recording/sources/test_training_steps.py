"""Steps of a training, from phases that are written down by hand."""

from __future__ import annotations

import numpy as np

from warpline.recording.sources.steps.records import RangeKind
from warpline.recording.sources.steps.training import Phases, Training, find_steps, order_of

KINDS = {
    "L": RangeKind.LOADER,
    "F": RangeKind.FORWARD,
    "E": RangeKind.EVALUATION,
    "B": RangeKind.BACKWARD,
    "O": RangeKind.OPTIMIZER,
    "C": RangeKind.CHECKPOINT,
    "M": RangeKind.COMMUNICATION,
}


def phases(*events: tuple[str, int, int]) -> Phases:
    """``("L1", start, stop)``: kind, what tells it from others, ``!`` for a wait without a batch; ns."""
    start = np.array([event[1] for event in events], np.int64)
    stop = np.array([event[2] for event in events], np.int64)
    order = order_of(start, stop)
    texts = [events[place][0] for place in order.tolist()]
    return Phases(
        start[order],
        stop[order],
        np.array([KINDS[text[0]] for text in texts], np.int64),
        np.array([int(text[1:].rstrip("!") or 0) for text in texts], np.int64),
        np.array([text.endswith("!") for text in texts], bool),
    )


def line(text: str) -> Training:
    """Phases of 8 ns each, 2 ns apart."""
    return find_steps(phases(*((word, 10 * i, 10 * i + 8) for i, word in enumerate(text.split()))))


def steps(text: str) -> list[tuple[int, int]]:
    """First and last phase of each step."""
    return [(start // 10, stop // 10) for start, stop in line(text).steps.tolist()]


def test_a_step_ends_with_the_optimiser_before_the_next_batch() -> None:
    assert line("L1 F B O1 L1 F B O1 L1!").steps.tolist() == [[0, 38], [38, 78]]
    assert steps("L1 F B L1 F B O1 L1 F B L1 F B O1") == [(0, 6), (6, 13)]
    assert steps("L1 F B O1 F B O2 L1 F B O1 F B O2") == [(0, 6), (6, 13)]


def test_without_a_loader_a_step_ends_before_one_of_its_optimisers_steps_again() -> None:
    assert steps("F B O1 F B O1 F B O1") == [(0, 2), (2, 5), (5, 8)]
    assert steps("F B O1 B O2 F B O1 B O2") == [(0, 4), (4, 9)]
    # One batch, over and over.
    assert steps("L1 F B O1 F B O1 F B O1") == [(0, 3), (3, 6), (6, 9)]


def test_a_batch_fetched_ahead_is_not_a_separate_step() -> None:
    assert steps("L1 L1 F B O1 L1 F B O1 L1! F B O1") == [(0, 4), (4, 8), (8, 12)]


def test_evaluation_and_checkpoints_between_steps_belong_to_none() -> None:
    found = line("L1 F B O1 L1! L2 E L2 E L2! C L3 F B O1")
    assert found.steps.tolist() == [[0, 38], [108, 148]]
    assert found.evaluations.tolist() == [[50, 98]]
    assert found.in_step.tolist() == [True] * 4 + [False] * 7 + [True] * 4


def test_a_teacher_inside_a_step_is_not_an_evaluation() -> None:
    found = line("L1 E F B O1 L1 E F B O1")
    assert found.steps.tolist() == [[0, 48], [48, 98]]
    assert not len(found.evaluations)
    assert found.in_step.all()


def test_an_optimiser_begins_where_its_closure_ended() -> None:
    found = find_steps(phases(("L1", 0, 10), ("O1", 12, 50), ("F", 14, 30), ("B", 31, 40)))
    assert found.steps.tolist() == [[0, 50]]
    assert found.start.tolist() == [0, 40, 14, 31]
    assert found.in_step.all()


def test_recomputation_in_backward_is_part_of_backward() -> None:
    found = find_steps(phases(("F", 0, 10), ("B", 12, 50), ("F", 20, 30), ("O1", 52, 60)))
    assert found.in_step.tolist() == [True, True, False, True]


def test_an_optimiser_inside_backward_ends_the_step_with_backward() -> None:
    inside = [("F", 0, 10), ("B", 12, 50), ("O1", 20, 22), ("O2", 30, 32)]
    again = [(kind, start + 100, stop + 100) for kind, start, stop in inside]
    assert find_steps(phases(*inside, *again)).steps.tolist() == [[0, 50], [50, 150]]


def test_steps_do_not_include_pauses() -> None:
    found = find_steps(phases(("F", 0, 10), ("O1", 12, 20), ("F", 920, 930), ("O1", 932, 940)), [900])
    assert found.steps.tolist() == [[0, 20], [900, 940]]


def test_without_an_optimiser_there_are_no_steps() -> None:
    assert not len(line("L1 E L1 E L1!").steps)
    assert not len(find_steps(phases()).steps)


def test_communication_after_the_optimiser_is_in_the_next_step() -> None:
    assert line("L1 F B O1 M L1 F B O1 M").in_step.tolist() == [True] * 9 + [False]
