"""Parts of the judge that need no plugin: the ladder's next step, exit codes, strict mode, the canaries."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from dougong_conformance import native, pool
from dougong_conformance.buffer import Buffer, expect_bytes
from dougong_conformance.case import Case, Fail, load_cases
from dougong_conformance.ladder import next_step
from dougong_conformance.report import Report, Result, write_json
from dougong_conformance.resolve import resolve
from dougong_conformance.run import CannotJudge
from dougong_conformance.session import Session
from dougong_conformance.worker import Worker
from judging import HERE  # noqa: F401 - puts the package on the path


def report(**verdicts: str) -> Report:
    """A report of cases "level_op_x" with these verdicts."""
    cases = [Case(name.replace("_", "/"), name.split("_")[0], ("MEM-001",), print) for name in verdicts]
    made = Report("acme:0", {"name": "acme", "version": "1", "sha256": ""}, cases)
    for case, verdict in zip(cases, verdicts.values(), strict=True):
        wants = f"kernel {case.id}" if verdict == "unsupported" else ""
        made.add(Result(case, verdict, error="because", wants=wants))
    return made


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ({"memory_a": "pass"}, 0),
        ({"memory_a": "pass", "memory_b": "unsupported"}, 0),
        ({"memory_a": "pass", "memory_b": "xfail"}, 0),
        ({"memory_a": "xfail"}, 0),
        ({"memory_a": "unsupported"}, 2),
        ({"memory_a": "pass", "memory_b": "not_run"}, 2),
        ({"memory_a": "fail", "memory_b": "not_run"}, 1),
        ({"memory_a": "fail", "memory_b": "pass"}, 1),
        ({}, 2),
    ],
)
def test_the_exit_code_follows_from_the_verdicts(verdicts: dict[str, str], code: int) -> None:
    assert report(**verdicts).exit_code() == code


def test_a_case_without_a_result_counts_as_not_run() -> None:
    made = report(memory_a="pass", memory_b="pass")
    del made.results["memory/b"]
    assert made.counts() == {"pass": 1, "fail": 0, "unsupported": 0, "xfail": 0, "not_run": 1}


def test_the_next_step_is_a_failure_before_anything_new() -> None:
    assert next_step(report(memory_a="unsupported", kernel_add_x="fail")).case == "kernel/add/x"


def test_the_next_kernel_is_the_one_that_training_missed_most() -> None:
    made = report(kernel_abs_x="unsupported", kernel_matmul_x="unsupported", train_mlp="pass")
    assert next_step(made).case == "kernel/abs/x"
    made.results["train/mlp"].fallbacks = {"add": 3, "matmul": 690}
    assert next_step(made).case == "kernel/matmul/x"


def test_nothing_is_left_to_do_when_all_passes() -> None:
    assert next_step(report(kernel_abs_x="pass")) is None


class Runtime:
    """Stands for the package dougong: its ledger."""

    def __init__(self) -> None:
        self.count = 0

    def fallbacks(self, device: str) -> dict[str, int]:
        assert device == "acme:0"
        return {"matmul": self.count} if self.count else {}


@pytest.mark.parametrize(("strict", "verdict"), [(False, "pass"), (True, "fail")])
def test_a_fallback_is_counted_and_fails_in_strict_mode(strict: bool, verdict: str) -> None:
    runtime = Runtime()
    requests, replies = os.pipe(), os.pipe()
    worker = Worker(requests[0], replies[1])
    worker._session = Session("libdg_acme.so", "acme", strict=strict)
    worker._session._runtime = runtime
    case = Case("train/mlp", "train", ("RUN-002",), lambda session: setattr(runtime, "count", 7))
    worker._cases = {case.id: case}
    worker._do_case("train/mlp", "train")
    reply = json.loads(os.read(replies[0], 1 << 16))
    assert Counter(reply["fallbacks"]) == Counter(matmul=7)
    assert reply["verdict"] == verdict
    assert (reply["error"] == "ran on the host: matmul x 7") == strict
    for number in (requests[1], *replies):
        os.close(number)


def test_a_worker_that_cannot_start_is_no_verdict_on_the_plugin(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pool, "START", "raise SystemExit(9)")
    process = pool.Process(pool.Target("acme", 0, tmp_path), seed=0, strict=False)
    with pytest.raises(RuntimeError, match="did not start: the plugin ended the process with exit code 9"):
        process.send(1.0, do="open")
    process.close()


def test_a_device_is_found_by_the_names_that_dougong_knows(monkeypatch, host: Path) -> None:
    known = {"host": str(host)}
    finder = SimpleNamespace(find=known.__getitem__)
    monkeypatch.setitem(sys.modules, "dougong", SimpleNamespace(_plugins=finder, __path__=[]))
    monkeypatch.setitem(sys.modules, "dougong._plugins", finder)
    assert resolve("host:3", None) == pool.Target("host", 3, host.resolve())
    with pytest.raises(CannotJudge, match="acme"):
        resolve("acme", None)


def test_a_library_can_be_judged_where_dougong_is_not_installed(monkeypatch, host: Path) -> None:
    monkeypatch.setitem(sys.modules, "dougong", None)
    assert resolve("host", str(host)).device == "host:0"
    with pytest.raises(CannotJudge, match="--plugin PATH"):
        resolve("host", None)


def test_a_write_beside_a_buffer_is_seen_and_placed(host: Path) -> None:
    device = native.Plugin.open(host).open_device()
    for at, message in ((-3, "1 bytes before .* the nearest 3 byte"), (70, "1 bytes after .* the nearest 1 byte")):
        buffer = Buffer(device, 70)
        buffer.check()
        device.upload(buffer.handle, buffer.offset + at, b"\x00")
        with pytest.raises(Fail, match=message):
            buffer.check()
        buffer.close()


def test_a_new_buffer_is_poisoned(host: Path) -> None:
    device = native.Plugin.open(host).open_device()
    assert Buffer(device, 5).read() == b"\xff" * 5
    assert Buffer(device, 5, poison=0xA5, shift=1).read() == b"\xa5" * 5


def test_wrong_bytes_are_reported_with_their_place() -> None:
    with pytest.raises(Fail, match="the copy: byte 2 is wrong, and 1 of 4 bytes in all"):
        expect_bytes("the copy", b"\x01\x02\x09\x04", b"\x01\x02\x03\x04")


def test_random_inputs_depend_on_the_seed_and_the_case_alone() -> None:
    case, other = load_cases(["memory"])[:2]

    def draw(seed: int, of: Case) -> bytes:
        session = Session("libdg_acme.so", "acme", seed=seed)
        session.begin(of)
        return session.rng().bytes(8)

    assert draw(1, case) == draw(1, case)
    assert len({draw(1, case), draw(2, case), draw(1, other)}) == 3


def test_a_report_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert json.loads(path.read_text()) == {"a": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]
