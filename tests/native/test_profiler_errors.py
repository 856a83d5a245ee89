"""A profiler in programs that do not treat it well: a clear message, and the program as if it were not there."""

from __future__ import annotations

from pathlib import Path

from tests.native.profiler_tools import needs_agent, run, steps_of, the_capture

import warpline

pytestmark = needs_agent


def test_a_schedule_that_never_closes_is_stopped_at_the_end(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        profiler = Profiler(scheduler=lambda step: warpline.ProfilerState.RECORD)
        profiler.start()
        train(profiler, 3)
        print("the end")
        """,
    )
    assert done.stdout == "the end\n"
    assert done.stderr == "warpline: the profiler was not stopped before the program ended; stopping it now\n"
    with the_capture(tmp_path) as capture:
        assert steps_of(capture) == [f"ProfileStep#{step}" for step in range(4)]


def test_a_recording_whose_last_step_was_not_told_is_not_kept(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        states = [warpline.ProfilerState.RECORD, warpline.ProfilerState.CLOSED]
        profiler = Profiler(scheduler=lambda step: states[min(step, 1)])
        with profiler:
            train(profiler, 3)
        print(profiler.profiler_result)
        """,
    )
    assert done.stdout == "None\n"
    assert "recording discarded: the schedule ended it after step 0 without RECORD_AND_RETURN" in done.stderr
    assert not list(tmp_path.glob("profiler_log/*.h5"))


def test_step_before_start_and_after_stop(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        profiler = Profiler(timer_only=True)
        for _ in range(3):
            profiler.step()
        profiler.stop()
        print(profiler.step_num, repr(profiler.step_info()))
        """,
    )
    assert done.stdout == "0 ''\n"
    assert done.stderr.count("step() before start() or after stop(): nothing is profiled") == 1
    assert "program.py" in done.stderr  # the warning names the program's line


def test_nested_profilers_and_two_in_one_process(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        with Profiler(scheduler=(0, 3)) as outer:
            with Profiler(scheduler=(0, 3), on_trace_ready=warpline.export_capture("inner")) as inner:
                train(outer, 1)
                inner.step()
                print("timed:", inner.step_num, bool(inner.step_info()))
            train(outer, 3)
        with Profiler(scheduler=(0, 1), on_trace_ready=warpline.export_capture("second")) as second:
            train(second, 2)
        """,
    )
    assert done.stdout == "timed: 1 True\n"
    assert done.stderr.count("another profiler is recording this process; this one only times its steps") == 1
    assert not (tmp_path / "inner").exists()
    with the_capture(tmp_path) as capture:
        assert steps_of(capture) == ["ProfileStep#0", "ProfileStep#1", "ProfileStep#2"]
    (path,) = (tmp_path / "second").glob("*.h5")
    with warpline.open(path) as capture:
        assert steps_of(capture) == ["ProfileStep#0"]


def test_an_exception_inside_comes_out_and_what_was_recorded_is_kept(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        with Profiler() as profiler:
            train(profiler, 2)
            raise KeyError("of the program")
        """,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.endswith("KeyError: 'of the program'\n")
    assert "warpline" not in done.stderr.lower()
    with the_capture(tmp_path) as capture:
        assert steps_of(capture) == ["ProfileStep#0", "ProfileStep#1", "ProfileStep#2"]


def test_a_forked_child_neither_steps_nor_stops_its_parents_profiler(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        with Profiler(scheduler=(0, 4)) as profiler:
            train(profiler, 2)
            child = os.fork()
            if child == 0:
                with RecordEvent("in the child"):
                    train(profiler, 3)
                profiler.stop()
                sys.exit(5)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            train(profiler, 3)
        """,
    )
    assert done.stdout == "5\n"
    assert done.stderr == ""
    with the_capture(tmp_path) as capture:
        assert steps_of(capture) == [f"ProfileStep#{step}" for step in range(4)]
        child = capture.events("range", name="in the child")
        (parent,) = set(capture.events("range", name="ProfileStep#0")["process_id"])
        assert len(child) == 1
        assert child["process_id"][0] != parent


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("no folder")
    done = run(
        tmp_path,
        """
        with Profiler(on_trace_ready=warpline.export_capture("taken")) as profiler:
            train(profiler, 1)
        print(profiler.profiler_result.path)
        with Profiler(on_trace_ready=warpline.export_chrome_tracing("taken/deeper")) as profiler:
            train(profiler, 1)
        profiler.export("later.json")
        print("ended well")
        """,
    )
    kept, end = done.stdout.splitlines()
    assert end == "ended well"
    assert "cannot be written (" in done.stderr
    assert f"; the recording goes to {Path(kept).parent}\n" in done.stderr
    assert done.stderr.count("ProfilerWarning") == 2  # one for each folder
    assert "deeper: cannot be written: " in done.stderr
    assert "the recording exists until this program ends; to keep it, call export(PATH)" in done.stderr
    assert (tmp_path / "later.json").stat().st_size > 0
    with warpline.open(kept) as capture:
        assert steps_of(capture) == ["ProfileStep#0", "ProfileStep#1"]


def test_a_recorder_that_cannot_start(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        sys.executable = "/nowhere/python"
        with Profiler() as profiler:
            train(profiler, 2)
        print("ended well")
        """,
    )
    assert done.stdout == "ended well\n"
    assert "profiling failed, the program continues: the recorder did not finish: it ended" in done.stderr


def test_what_the_programs_own_handler_raises_is_the_programs(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        def handler(profiler):
            raise LookupError("of the handler")
        profiler = Profiler(scheduler=(0, 1), on_trace_ready=handler)
        profiler.start()
        try:
            profiler.step()
        except LookupError as error:
            print(error)
        profiler.stop()
        """,
    )
    assert done.stdout == "of the handler\n"
    assert done.stderr == ""


def test_a_handler_that_reads_hdf5_while_the_program_ends_harms_nothing(tmp_path: Path) -> None:
    # HDF5 calls h5py's converters when it ends, which is after Python.
    done = run(
        tmp_path,
        """
        profiler = Profiler(on_trace_ready=warpline.export_chrome_tracing("out"))
        profiler.start()
        train(profiler, 3)
        assert "h5py" not in sys.modules
        raise KeyError("mine")
        """,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "KeyError: 'mine'" in done.stderr
    assert list((tmp_path / "out").glob("*.json"))
