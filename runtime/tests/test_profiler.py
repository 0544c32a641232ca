"""The profiler records what was done, where and for how long, and nothing when it is off."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import dougong
import pytest
from dougong.profiler import ProfilerAction, profile, record_function, schedule


def names(prof: profile, **wanted: Any) -> list[str]:
    return [s.name for s in prof.events() if all(getattr(s, key) == value for key, value in wanted.items())]


def test_op_calls_are_recorded_in_order_with_shapes_and_their_kernels():
    x = dougong.ones(3, 4)
    with profile(record_shapes=True) as prof:
        (x @ x.T).exp()
    dougong.ones(2) + 1
    spans = [s for s in prof.events() if s.kind == "op"]
    assert [s.name for s in spans] == ["matmul", "exp"]
    assert spans[0].shapes == "[(3, 4), (4, 3)]" and spans[1].shapes == "[(3, 3)]"
    assert names(prof, kind="kernel", device="cpu:0") == ["matmul", "exp"]
    kernel = next(s for s in prof.events() if s.kind == "kernel")
    assert spans[0].begin <= kernel.begin <= kernel.end <= spans[0].end <= spans[1].begin
    assert not dougong._core._profiling()


def test_the_backward_pass_is_recorded_with_the_ops_within_it():
    x = dougong.ones(3, requires_grad=True)
    y = x.sin().sum()
    with profile() as prof:
        y.backward()
    assert "sin backward" in names(prof, kind="backward")
    outer = next(s for s in prof.events() if s.name == "sin backward")
    inner = next(s for s in prof.events() if s.name == "cos" and s.kind == "op")
    assert outer.begin <= inner.begin and inner.end <= outer.end
    assert outer.self_time <= outer.duration - inner.duration + 1e-6


def test_labels_hold_the_time_of_what_is_done_within_them():
    @record_function("work")
    def work() -> None:
        time.sleep(0.02)

    with profile() as prof:
        with record_function("outer"):
            work()
            dougong.ones(1) + 1
        work()
    averages = prof.key_averages()
    assert averages["work"].count == 2 and averages["work"].host_time >= 40_000
    assert averages["outer"].host_time >= 20_000 > averages["outer"].self_host_time
    with pytest.raises(KeyError, match="gone"):
        averages["gone"]


def test_spans_of_an_asynchronous_device_are_its_own_times():
    x = dougong.ones(1000, device="sim:0")
    stream = dougong.current_stream("sim:0")
    with profile() as prof:
        stream.add_callback(lambda status: time.sleep(0.05))
        y = x + x
        y.tolist()
    host = next(s for s in prof.events() if s.name == "add" and s.kind == "op")
    device = next(s for s in prof.events() if s.name == "add" and s.kind == "kernel")
    copy = next(s for s in prof.events() if s.name == "copy to host")
    assert device.device == "sim:0" and device.end > host.end
    assert device.end <= copy.end + 1 and device.begin <= device.end
    assert prof.key_averages()["add"].device_count == 1


def test_spans_of_each_thread_are_kept_apart():
    def work() -> None:
        dougong.ones(2).exp()

    with profile() as prof:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        work()
    spans = [s for s in prof.events() if s.name == "exp" and s.kind == "op"]
    assert len({s.thread for s in spans}) == 2 and threading.get_native_id() in {s.thread for s in spans}


def test_a_chrome_trace_can_be_read_back(tmp_path: Path):
    with profile(record_shapes=True) as prof, record_function("label"):
        dougong.ones(2, device="sim:0").exp()
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert len(spans) == len(prof.events()) and all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans)
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    exp = {processes[e["pid"]]: e for e in spans if e["name"] == "exp"}
    assert set(exp) == {"host", "sim:0"} and exp["host"]["args"] == {"shapes": "[(2,)]"}
    assert tracks[exp["host"]["pid"], exp["host"]["tid"]] == "MainThread"
    assert tracks[exp["sim:0"]["pid"], exp["sim:0"]["tid"]] == "stream 0"
    label = next(e for e in spans if e["name"] == "label")
    assert label["ts"] <= exp["host"]["ts"] and exp["host"]["dur"] <= label["dur"]


def test_a_table_has_a_row_for_each_name_or_name_and_shapes():
    with profile(record_shapes=True) as prof:
        for size in (2, 3, 3):
            dougong.ones(size).exp()
    table = prof.key_averages().table(sort_by="count", row_limit=1).splitlines()
    assert table[0].split() == ["name", "self", "host", "share", "host", "calls", "device", "kernels"]
    assert len(table) == 4 and table[2].split()[0] in ("exp", "full")
    by_shape = prof.key_averages(group_by_input_shape=True)
    assert sorted(row.count for row in by_shape if row.key == "exp" and row.shapes) == [1, 2]
    assert "[(3,)]" in by_shape.table()
    with pytest.raises(ValueError, match="sort_by"):
        prof.key_averages().table("size")


def test_a_schedule_records_the_steps_that_it_says():
    seen: list[list[str]] = []
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    actions = [plan(i) for i in range(10)]
    record, save = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
    assert [i for i, a in enumerate(actions) if a is record] == [3, 7]
    assert [i for i, a in enumerate(actions) if a is save] == [4, 8]
    with profile(schedule=plan, on_trace_ready=lambda p: seen.append(names(p, kind="label"))) as prof:
        for _ in range(12):
            dougong.ones(1).exp()
            prof.step()
    assert seen == [["step 3", "step 4"], ["step 7", "step 8"]]


def test_there_is_one_profile_at_a_time_and_it_ends_with_an_error_inside():
    with profile(), pytest.raises(dougong.InvalidArgumentError, match="one at a time"):
        profile().start()
    with pytest.raises(KeyError), profile():
        raise KeyError
    assert not dougong._core._profiling()
    with profile(with_devices=False) as prof:
        dougong.ones(1).exp()
    assert {s.kind for s in prof.events()} == {"op"}


def test_kernels_of_a_replay_are_recorded():
    from dougong import jit

    @jit
    def function(x: dougong.Tensor) -> dougong.Tensor:
        return (x + 1).exp()

    x = dougong.ones(3)
    for _ in range(5):
        function(x)
    with profile() as prof:
        function(x)
    assert [name for name in names(prof, kind="kernel") if name in ("add", "exp")] == ["add", "exp"]


def test_a_forked_worker_does_not_go_on_with_the_profile():
    from dougong.data import DataLoader

    class Sees(list):
        def __getitem__(self, i: int) -> bool:
            dougong.ones(2).exp()
            return dougong._core._profiling()

    with profile() as prof:
        found = [b.tolist() for b in DataLoader(Sees([0, 1]), num_workers=1)]
        dougong.ones(2).sin()
    assert found == [[False], [False]] and "sin" in names(prof) and "exp" not in names(prof)
