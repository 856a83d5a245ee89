"""An anonymous export holds none of the texts that name people, machines and projects, in any format."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.interchange.export.export_tools import events_of, written

from warpline.analysis.structure.thread_states import STATES
from warpline.cli import main
from warpline.interchange.export.pseudonyms import VOCABULARY, Pseudonyms, what_changes
from warpline.model.kinds import BUILTIN_KINDS_BY_NAME, AttributeSpec, KindSpec
from warpline.model.notes import Note
from warpline.model.roles import ROLES
from warpline.recording.sources.registry import recording_sources
from warpline.storage import Capture, CaptureBuilder, open_capture

HOST, USER, PROJECT, PROCESS, ARGUMENT = "gpubox17", "merlwyn", "zephyrus", "quuxtrain", "grumblewick"
ROOT = "/" + "home"  # no path of this machine
OWN = f"{ROOT}/{USER}"
HOME = f"{OWN}/{PROJECT}"
SECRETS = (
    HOST, USER, PROJECT, PROCESS, ARGUMENT, "/data/visible", "hidden.sock", "10.11.12.13", "db.corp.example",
    "settings_xy", "My Own Folder", "SERIAL-77", "last words", "1764200000", "a remark",
)  # fmt: skip
KEPT = ("forward_pass", "gemm_kernel", "torch/nn/linear.py", "/usr/lib/libc.so.6", "optimizer step")


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture with secrets in every place that has texts."""
    path = tmp_path_factory.mktemp("secret") / f"{PROJECT}.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(
            71, name=PROCESS, command=f"{HOME}/{PROCESS} --name={ARGUMENT} /data/visible"
        )
        thread = builder.add_thread(process, 71, name=f"{PROCESS}-worker")
        owner = builder.track(
            f"process/71.1/{PROCESS}", title=f"{PROCESS} [71]", role="process", process=process
        )
        track = builder.track(
            f"process/71.1/{PROCESS}/thread/71.1",
            title=f"{PROCESS} 71",
            role="thread",
            parent=owner,
            thread=thread,
        )
        names = [
            "forward_pass", "gemm_kernel", "optimizer step", f"load ({HOME}/settings_xy.py:12)",
            f"{PROJECT}.model.forward", "read /data/visible/x.bin", f"connect {HOST}:5432", "connect 10.11.12.13:5432",
            "query db.corp.example:5432", "unix:///run/hidden.sock", f"{OWN}/My Own Folder/a b.txt",
            f"open ({OWN}/My Own Folder/c.py:3)", f"C:\\Users\\{USER}\\x.py", f"--name={ARGUMENT}",
            f"{HOME}/venv/lib/python3.11/site-packages/torch/nn/linear.py", "/usr/lib/libc.so.6",
        ]  # fmt: skip
        builder.add_kind(
            KindSpec("task", PROCESS, "other", "neutral", (AttributeSpec("place", "string", ARGUMENT),))
        )
        count = len(names)
        builder.add_events(
            track,
            "task",
            [10 * n for n in range(count)],
            [5] * count,
            builder.strings(names),
            attributes={"place": builder.strings([f"{HOME}/settings_xy.py"] * count)},
        )
        builder.add_counter(track, f"memory of {PROCESS}", "bytes", [0, 10], [1.0, 2.0])
        builder.add_source("osrt", False, f"{HOME}/lib.so does not load", remedy=f"ask {USER}")
        builder.add_skipped(f"events of {HOST}", 3, f"{PROCESS} ended")
        builder.add_warning(f"{HOME} was removed")
        builder.add_device(0, "GPU model", properties=(("serial", "SERIAL-77"), ("SMs", 8)))
        builder.meta.update(
            command_line=[f"{HOME}/{PROCESS}", f"--name={ARGUMENT}", "/data/visible"],
            working_directory=HOME,
            host={"name": HOST, "cpus": 2},
            stderr_tail=["last words"],
            start_utc_ns=1764200000 * 10**9,
            imported_from=[f"{HOME}/trace.json"],
        )
        builder.finish()
    return path


def notes(capture: Capture) -> tuple[Note, ...]:
    return (Note(id="1", text="a remark", start_ns=0, stop_ns=10),)


@pytest.mark.parametrize("name", ["out.h5", "out.json", "out.csv", "out.html", "folder"])
def test_no_secret_is_in_the_result(capture: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    if "." not in name:
        out.mkdir()
    with open_capture(capture) as opened:
        written(opened, out, anonymize=True, notes=notes(opened))
    content = b"".join(
        path.name.encode() + path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
    assert [secret for secret in SECRETS if secret.encode() in content] == []
    assert [kept for kept in KEPT if kept.encode() not in content and "folder" not in name] == []


def test_events_stay_and_pseudonyms_are_stable(capture: Path, tmp_path: Path) -> None:
    with open_capture(capture) as opened:
        out = written(opened, tmp_path / "out.h5", anonymize=True)
        before = sorted((kind, start, duration) for kind, _name, start, duration in events_of(opened))
    with open_capture(out) as anonymous:
        assert (
            sorted((kind, start, duration) for kind, _name, start, duration in events_of(anonymous)) == before
        )
        (place,) = {anonymous.strings[text] for text in anonymous.kinds["task"].column("place")[0].tolist()}
        assert f"load ({place}:12)" in anonymous.strings.get(range(len(anonymous.strings)))
        process = anonymous.processes[0].name
        assert process in anonymous.threads[0].name
        assert process in anonymous.tracks[0].title
        assert anonymous.meta["host"] == {"cpus": 2}
        assert anonymous.devices[0].properties == (("SMs", 8),)


def test_what_is_kept_is_printed_before_the_file_is_written(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--anonymize", str(capture), str(tmp_path / "out.h5")]) == 0
    first, second, third, last = capsys.readouterr().out.splitlines()
    assert first.startswith("replaced by pseudonyms: hosts (1)")
    assert second.startswith("left out: command lines")
    assert third.startswith("kept: times")
    assert last.endswith("16 events")
    with open_capture(capture) as opened:
        assert what_changes(opened) == [first, second, third]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("acmeproj/models/net.py(85): forward", "acmeproj/models/net"),
        ("Call stack: acmeproj/train.py(12): main", "acmeproj/train"),
        ("launch x_cu.cu(12)", "x_cu"),
        ("read s3://bucket/x", "bucket"),
        ("GET HTTPS://Acme.Example/x", "Acme"),
        ("data/acme/shard-1.tar", "acme"),
        ("load acme/model.onnx", "acme"),
        ("acme/weights.safetensors", "acme"),
        ("mail to jo.acme@mail.acme.example now", "acme"),
        ("ping gpu-7.corp.example", "corp"),
        ("ping login.acme.com", "acme"),
        ("node3.cluster.acme.net is gone", "acme"),
        ("bind fe80::1:2", "fe80"),
        ("bind 2001:db8::1:2", "db8"),
        ("from aa:bb:cc:dd:ee:0f", "ee"),
        ("error:/srv/acme/x", "acme"),
        ("--file=../acme/x.py", "acme"),
        ("lost 10.11.12.13.", "12.13"),
        ("GPU 0000:3b:00.0", "3b"),
    ],
)  # fmt: skip
def test_paths_and_addresses_of_every_form_are_replaced(capture: Path, text: str, secret: str) -> None:
    with open_capture(capture) as opened:
        assert secret not in Pseudonyms(opened).text(text)


@pytest.mark.parametrize(
    ("uri", "result"),
    [
        ("gpu/0/counters/sm.active", "gpu/0/counters/sm.active"),
        ("process/71.1/thread/%2Fproc%2Fx 7/async", "process/71.1/thread/%2Fproc%2Fx 7/async"),
        ("process/gpu-7.corp.example.1/thread/7", "process/address-1.1/thread/7"),
        ("process/10.11.12.13.2", "process/address-1.2"),
        (f"process/{PROCESS}.1/thread/7", "process/process-1.1/thread/7"),
        ("thread/%2Fsrv%2Facme%2Fx/state", "thread/%2Ffolder-2%2Ffile-1/state"),
    ],
)
def test_the_uri_of_a_track_keeps_its_parts(capture: Path, uri: str, result: str) -> None:
    with open_capture(capture) as opened:
        assert Pseudonyms(opened).uri(uri) == result


def test_a_host_is_known_by_its_short_name_too(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.meta["host"] = {"name": "quux.corp.example"}
        builder.finish()
    with open_capture(tmp_path / "x.h5") as opened:
        pseudonyms = Pseudonyms(opened)
        assert pseudonyms.text("quux.corp.example:80 quux quux-gpu") == "host-1:80 host-2 host-2-gpu"


@pytest.mark.parametrize("reached_as", ["merlwyn@quux.corp.example", "ssh://merlwyn@quux.corp.example:2222"])
def test_a_host_reached_over_ssh_names_its_user_too(tmp_path: Path, reached_as: str) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.meta["host"] = {"reached_as": reached_as}
        builder.finish()
    with open_capture(tmp_path / "x.h5") as opened:
        assert Pseudonyms(opened).text("merlwyn on quux") == "user-1 on host-2"


def test_users_of_home_folders_and_texts_in_sql_are_replaced(tmp_path: Path) -> None:
    query = "SELECT a FROM t WHERE name = 'O''Hara' AND city='Quuxham'"
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = builder.track("thread/1", title="1", role="thread")
        names = [f"read {OWN}/a.txt", f"job of {USER}", query]
        builder.add_events(track, "range", [0, 1, 2], [1, 1, 1], builder.strings(names))
        builder.finish()
    with open_capture(tmp_path / "x.h5") as opened:
        pseudonyms = Pseudonyms(opened)
        assert pseudonyms.text(f"job of {USER}") == "job of user-1"
        assert pseudonyms.text(query) == "SELECT a FROM t WHERE name = 'value-1' AND city='value-2'"
        assert "texts in SQL (2)" in what_changes(opened)[0]


def test_arguments_that_are_words_of_the_capture_leave_it_whole(tmp_path: Path) -> None:
    words = [
        "kernel.py",
        "--device",
        "cuda",
        "--state",
        "running",
        "grid_x",
        "slice",
        "stream",
        "read.py",
        "zephyr",
    ]
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.meta["command_line"] = ["python", *words]
        builder.add_source("cuda", True)
        stream = builder.track("gpu/0/stream/7", title="Stream 7", role="stream", device=0, stream=7)
        builder.add_events(
            stream, "kernel", [0], [5], builder.strings(["zephyr"]), attributes={"grid_x": [1]}
        )
        core = builder.track("cpu/0", title="Core 0", role="core")
        builder.add_events(core, "cpu_slice", [0], [5], builder.strings(["running"]))
        builder.finish()
    with open_capture(tmp_path / "x.h5") as opened:
        out = written(opened, tmp_path / "out.h5", anonymize=True)
        kinds = {name: table.spec for name, table in opened.kinds.items()}
    with open_capture(out) as anonymous:
        assert {name: table.spec for name, table in anonymous.kinds.items()} == kinds
        assert [source.name for source in anonymous.sources] == ["cuda"]
        assert [(track.uri, track.role) for track in anonymous.tracks] == [
            ("gpu/0/stream/7", "stream"),
            ("cpu/0", "core"),
        ]
        names = {anonymous.strings[int(name)] for name in anonymous.events.name}
    assert "running" in names
    assert "zephyr" not in names


def test_every_source_and_kind_of_a_recording_is_in_the_vocabulary() -> None:
    sources = {source.name for source in recording_sources()}
    assert sources | set(BUILTIN_KINDS_BY_NAME) | set(ROLES) | set(STATES) <= VOCABULARY


@pytest.mark.parametrize(
    "text",
    [
        "a/b", "5 GB/s", "aten::add", "operator/(int)", "void f<a, b>(c*)", "process/71.2/thread/74.1/state",
        "<module> (<string>:1)", "python", "main (<frozen site>:599)", "127.0.0.1:80", "v1.2.3.4.5",
        "std::vector<int>::at", "12:34:56", "at 12:34:56.789", "x[1:2:3]", "c10::add", "memcpy@GLIBC_2.2.5",
        "torch/nn/modules/module.py(1501): _call_impl", "torch.nn.functional", "self.model.net",
        "process/71.1/thread/71.1/osrt", "transformer/h.0/attn",
        "threading.local",
        "nn.Module: Linear_0", "nccl:all_reduce", "triton_red_fused.v2.run",
    ],
)  # fmt: skip
def test_other_texts_stay_as_they_are(capture: Path, text: str) -> None:
    with open_capture(capture) as opened:
        assert Pseudonyms(opened).text(text) == text
