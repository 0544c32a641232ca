"""Batches made by worker processes: the same ones, in the same order; and what happens if a worker does not do well."""

from __future__ import annotations

import gc
import os
import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import dougong
import numpy as np
import pytest
from dougong._data._spool import Spool
from dougong._data._workers import WorkerTraceback
from dougong.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info


class Numbers(Dataset):
    """Example i is i, in several forms; what `do` makes of i is done first."""

    def __init__(self, count: int, do: Any = lambda i: None) -> None:
        self.count, self.do = count, do

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> Any:
        self.do(i)
        return {"index": i, "row": np.full(300, i, np.float32), "half": dougong.tensor([i], dtype=dougong.bfloat16)}


def indices(loader: DataLoader) -> list[list[int]]:
    return [batch["index"].tolist() for batch in loader]


def loaders(folder: str = "/dev/shm") -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith("dougong-data-")] if os.path.isdir(folder) else []


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_are_those_of_one_process_in_the_same_order(workers: int):
    dataset = Numbers(23, do=lambda i: time.sleep(0.01 if i % 8 == 0 else 0))
    found = list(DataLoader(dataset, 4, num_workers=workers))
    assert [b["index"].tolist() for b in found] == indices(DataLoader(dataset, 4))
    assert all((b["row"][:, 7] == b["index"]).numpy().all() for b in found)
    assert found[1]["half"].dtype == dougong.bfloat16 and found[1]["half"].shape == (4, 1)
    shuffled = [
        indices(DataLoader(dataset, 4, shuffle=True, num_workers=n, generator=dougong.Generator().manual_seed(3)))
        for n in (0, workers)
    ]
    assert shuffled[0] == shuffled[1]


def test_whole_batches_of_tensors_are_made_in_the_workers():
    x = dougong.arange(12).float()
    batches = list(DataLoader(TensorDataset(x, x * 2), 5, num_workers=2))
    assert [b.tolist() for _, b in batches] == [[0, 2, 4, 6, 8], [10, 12, 14, 16, 18], [20, 22]]


class Share(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        yield from range(info.id, 9 if info.id else 3, info.num_workers)


def test_each_worker_goes_over_its_share_of_a_stream():
    found = [b.tolist() for b in DataLoader(Share(), 2, num_workers=2)]
    assert found == [[0, 2], [1, 3], [5, 7]]


class Draws(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> Any:
        info = get_worker_info()
        numbers = random.randrange(10**9), int(np.random.randint(10**9)), int(dougong.rand(1).item() * 2**24)
        return dougong.tensor([*numbers, info.id, info.seed % 2**31])


def test_seeds_differ_between_workers_and_epochs_and_are_the_same_in_another_run():
    def run(persistent: bool) -> list[list[Any]]:
        generator = dougong.Generator().manual_seed(5)
        loader = DataLoader(Draws(), 2, num_workers=2, persistent_workers=persistent, generator=generator)
        return [[row for batch in loader for row in batch.tolist()] for _ in range(2)]

    epochs = run(False)
    assert run(False) == epochs == run(True)
    assert [row[3] for row in epochs[0]] == [0, 0, 1, 1] * 2
    for column in range(3):
        assert len({row[column] for epoch in epochs for row in epoch}) == 16


def test_worker_init_fn_is_called_once_in_each_worker():
    state: dict[str, int] = {}

    def init(number: int) -> None:
        state["number"], state["calls"] = number, state.get("calls", 0) + 1

    class Sees(Numbers):
        def __getitem__(self, i: int) -> Any:
            return state["number"] * 10 + state["calls"]

    loader = DataLoader(Sees(4), 2, num_workers=2, worker_init_fn=init, persistent_workers=True)
    assert [b.tolist() for _ in range(2) for b in loader] == [[1, 1], [11, 11]] * 2
    assert state == {}


def fail_at(index: int, error: Exception) -> Any:
    def do(i: int) -> None:
        if i == index:
            raise error

    return do


class Odd(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("odd")


def test_an_error_of_a_worker_is_raised_with_its_traceback_after_the_batches_before_it():
    seen: list[Any] = []
    with pytest.raises(KeyError, match="five") as caught:
        for batch in DataLoader(Numbers(8, fail_at(5, KeyError("five"))), 2, num_workers=2):
            seen.append(batch["index"].tolist())
    assert seen == [[0, 1], [2, 3]]
    assert isinstance(caught.value.__cause__, WorkerTraceback)
    assert "in do" in str(caught.value.__cause__) and "raise error" in str(caught.value.__cause__)


def test_an_error_that_cannot_be_pickled_is_told_as_text():
    with pytest.raises(RuntimeError, match=r"(?s)Traceback.*Odd: odd"):
        list(DataLoader(Numbers(2, fail_at(0, Odd(1, 2))), num_workers=1))

    def init(number: int) -> None:
        raise OSError("no such disk")

    with pytest.raises(OSError, match="no such disk"):
        list(DataLoader(Numbers(2), num_workers=1, worker_init_fn=init))


def test_a_worker_that_is_killed_is_noticed_and_named():
    def kill(i: int) -> None:
        if i == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RuntimeError, match=r"worker 1 \(pid \d+\) was killed by SIGKILL"):
        list(DataLoader(Numbers(8, kill), 2, num_workers=2))
    with pytest.raises(RuntimeError, match=r"worker 0 \(pid \d+\) ended with exit code 3"):
        list(DataLoader(Numbers(2, lambda i: os._exit(3)), num_workers=1))


def test_a_worker_that_takes_too_long_is_named():
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"within 0\.1 seconds"):
        next(iter(DataLoader(Numbers(2, lambda i: time.sleep(0.5)), num_workers=1, timeout=0.1)))
    assert time.monotonic() - begin < 5


def test_workers_and_their_files_are_gone_when_the_loop_ends_in_any_way(monkeypatch: pytest.MonkeyPatch):
    import multiprocessing

    def left() -> Any:
        gc.collect()
        return multiprocessing.active_children(), loaders()

    before = loaders()
    for _ in DataLoader(Numbers(40), 2, num_workers=2):
        break
    assert left() == ([], before)
    with pytest.raises(KeyboardInterrupt):
        for _ in DataLoader(Numbers(40), 2, num_workers=2):
            raise KeyboardInterrupt
    assert left() == ([], before)
    loader = DataLoader(Numbers(4), 2, num_workers=2, persistent_workers=True)
    list(loader)
    assert len(left()[0]) == 2
    del loader
    assert left() == ([], before)


def test_an_interrupt_while_waiting_ends_the_workers(run_python):
    code = """
        import multiprocessing, os, signal, sys, threading, time
        from dougong.data import DataLoader, Dataset
        class Slow(Dataset):
            def __len__(self): return 4
            def __getitem__(self, i): time.sleep(0.3 if i else 0); return i
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            for batch in DataLoader(Slow(), num_workers=2): pass
        except KeyboardInterrupt:
            print("interrupted", multiprocessing.active_children())
    """
    done = run_python(code, timeout=20)
    assert done.stdout == "interrupted []\n" and done.stderr == ""


def test_workers_and_their_files_do_not_outlive_a_parent_that_was_killed(run_python):
    code = """
        import os, signal
        from dougong.data import DataLoader, Dataset
        class Rows(Dataset):
            def __len__(self): return 40
            def __getitem__(self, i): return [os.getpid()] * 1000
        loader = DataLoader(Rows(), 2, num_workers=2, persistent_workers=True)
        print(next(iter(loader))[0][0].item(), loader._pool._spool.folder, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    pid, folder = run_python(code, check=False, timeout=20).stdout.split()
    end = time.monotonic() + 5
    while (os.path.exists(folder) or os.path.exists(f"/proc/{pid}")) and time.monotonic() < end:
        time.sleep(0.02)
    assert not os.path.exists(folder) and not os.path.exists(f"/proc/{pid}")


def test_persistent_workers_stay_and_forget_what_was_left_of_an_epoch():
    class Pids(Numbers):
        def __getitem__(self, i: int) -> Any:
            return os.getpid()

    loader = DataLoader(Pids(6), 3, num_workers=2, persistent_workers=True)
    first = {pid for batch in loader for pid in batch.tolist()}
    for _ in loader:
        break
    assert {pid for batch in loader for pid in batch.tolist()} == first and len(first) == 2
    older = iter(loader)
    next(older)
    next(iter(loader))
    with pytest.raises(RuntimeError, match="another loop"):
        list(older)


def test_spawned_workers_do_the_same():
    x = dougong.arange(4).float()
    loader = DataLoader(TensorDataset(x), 2, num_workers=1, multiprocessing_context="spawn")
    assert [b.tolist() for (b,) in loader] == [[0, 1], [2, 3]]


def test_batches_are_pinned_for_a_device():
    loader = DataLoader(Numbers(4), 2, num_workers=1, pin_memory=True, pin_memory_device="sim:0")
    for batch in loader:
        assert batch["row"].is_pinned() and batch["half"].is_pinned()
        assert batch["row"].to("sim:0", non_blocking=True)[:, 0].tolist() == batch["index"].tolist()


def test_a_spool_carries_large_objects_without_leaving_files():
    spool = Spool.make()
    value = {"big": np.arange(10_000).reshape(100, 100).T, "small": [1, "two"], "many": list(range(1000))}
    message = spool.write(value)
    assert len(message) < 512 and len(os.listdir(spool.folder)) == 1
    found = spool.read(message)
    assert os.listdir(spool.folder) == [] and found["many"] == value["many"] and found["small"] == value["small"]
    assert (found["big"] == value["big"]).all() and found["big"].flags.writeable
    assert spool.read(spool.write("short")) == "short" and os.listdir(spool.folder) == []
    spool.remove()
    assert not os.path.exists(spool.folder)
