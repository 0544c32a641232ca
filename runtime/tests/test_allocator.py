"""The caching allocator: alignment, reuse, streams, exhaustion, and its modes for finding faults."""

from __future__ import annotations

import ctypes
import gc
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import dougong
import pytest
from dougong import _core

Named = Callable[..., Path]

MIB = 1 << 20
LIMIT = 64 * MIB  # of a queue device


@pytest.fixture(scope="module")
def library(compile_plugin: Named) -> ctypes.CDLL:
    path = compile_plugin("queue", 'NAME="alloc"', file="libdg_alloc.so")
    dougong.load_plugin(path)
    return ctypes.CDLL(str(path))


@pytest.fixture
def device(library: ctypes.CDLL) -> Iterator[dougong.Device]:
    """With nothing allocated, before and after."""
    device = dougong.device("alloc:0")
    device.empty_cache()
    device.reset_peak_memory_stats()
    assert device.memory_stats()["allocated"] == 0
    yield device
    library.queue_hold(0)
    gc.collect()  # an exception that a test has kept holds its tensors
    device.synchronize()
    device.empty_cache()
    assert device.memory_stats()["allocated"] == device.memory_stats()["reserved"] == library.queue_live(0) == 0


def block(size: int, device: object) -> dougong.Tensor:
    return dougong.empty(size, dtype=dougong.uint8, device=device)


def address(tensor: dougong.Tensor) -> int:
    return _core._data_ptr(tensor)


def test_every_block_is_aligned_and_apart_from_the_others(device: dougong.Device) -> None:
    blocks = [block(size, device) for size in [*range(1, 4098, 7), 65536, 65537, MIB, MIB + 1, 3 * MIB]]
    spans = sorted((address(b), address(b) + b.numel()) for b in blocks)
    assert all(start % device.properties["alignment"] == 0 for start, _ in spans)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


@pytest.mark.parametrize("size", [1, 64, 1000, 5000, 100_000, MIB, MIB + 1, 9 * MIB, 30 * MIB])
def test_a_freed_block_is_handed_out_again(device: dougong.Device, size: int) -> None:
    first = block(size, device)
    where = address(first)
    del first
    before = device.memory_stats()["device_allocations"]
    for _ in range(3):
        assert address(block(size, device)) == where
    assert device.memory_stats()["device_allocations"] == before


def test_stats_count_and_return_to_the_start(device: dougong.Device) -> None:
    before = device.memory_stats()
    blocks = [block(1000, device) for _ in range(10)]
    during = device.memory_stats()
    assert 10_000 <= during["allocated"] <= 13_000 and during["reserved"] >= during["allocated"]
    assert during["allocations"] - before["allocations"] == 10
    blocks.clear()
    after = device.memory_stats()
    assert after["allocated"] == 0 and after["frees"] - before["frees"] == 10
    assert after["peak_allocated"] == during["allocated"] and after["peak_reserved"] == during["reserved"]
    device.reset_peak_memory_stats()
    assert device.memory_stats()["peak_allocated"] == 0


def test_small_blocks_grow_together_again(device: dougong.Device) -> None:
    blocks = [block(256, device) for _ in range(2 * MIB // 256)]
    before = device.memory_stats()["device_allocations"]
    random.Random(0).shuffle(blocks)
    blocks.clear()
    large = [block(MIB, device) for _ in range(2)]
    assert device.memory_stats()["device_allocations"] == before and len(large) == 2


def test_exhaustion_names_the_numbers_and_leaves_the_device_usable(device: dougong.Device) -> None:
    keep = block(10 * MIB, device)
    with pytest.raises(dougong.OutOfMemoryError) as caught:
        block(60 * MIB, device)
    stats, message = device.memory_stats(), str(caught.value)
    for number in (60 * MIB, stats["allocated"], stats["reserved"], LIMIT - stats["reserved"], LIMIT):
        assert str(number) in message, message
    assert isinstance(caught.value, MemoryError) and "alloc:0 is out of memory: requested" in message
    assert keep.numel() == 10 * MIB
    assert dougong.tensor([1, 1], device=device).numpy().tolist() == [1, 1]


@pytest.mark.parametrize("size", [2**62, 2**62 + 1, 2**63 - 1, 2**40])
def test_absurd_requests_do_not_overflow(device: dougong.Device, size: int) -> None:
    with pytest.raises(dougong.OutOfMemoryError, match=f"requested {size} bytes"):
        block(size, device)
    assert device.memory_stats()["allocated"] == 0


def test_fragmented_memory_is_exhausted_cleanly(device: dougong.Device) -> None:
    blocks = [block(LIMIT // 16, device) for _ in range(16)]
    del blocks[::2]
    device.empty_cache()
    with pytest.raises(dougong.OutOfMemoryError):
        block(LIMIT // 4, device)
    assert dougong.tensor([2], device=device).numpy().tolist() == [2]
    blocks.clear()
    assert block(LIMIT // 2, device).numel() == LIMIT // 2


def test_the_cache_is_emptied_before_giving_up(device: dougong.Device) -> None:
    blocks = [block(100_000, device) for _ in range(LIMIT // 2 // 100_000)]
    blocks.clear()
    before = device.memory_stats()
    assert before["reserved"] > LIMIT // 3
    assert block(LIMIT * 6 // 10, device).numel() == LIMIT * 6 // 10
    assert device.memory_stats()["retries"] == before["retries"] + 1


def test_growing_sizes_keep_the_reserved_memory_bounded(named: Named) -> None:
    dougong.load_plugin(named("growing"))
    device = dougong.device("growing:0")
    for cycle in range(1, 10_001):
        block(cycle * 8192, device)
    stats = device.memory_stats()
    assert stats["allocated"] == 0 and stats["peak_reserved"] <= 2 * stats["peak_allocated"] + 260 * MIB + 80 * MIB


def test_empty_cache_keeps_what_is_in_use(device: dougong.Device, library: ctypes.CDLL) -> None:
    keep = dougong.tensor([1, 2, 3], device=device)
    other = block(5 * MIB, device)
    assert library.queue_live(0) == 2
    del other
    device.empty_cache()
    assert library.queue_live(0) == 1 and keep.numpy().tolist() == [1, 2, 3]


def test_a_block_goes_to_another_stream_only_when_its_work_is_done(
    device: dougong.Device, library: ctypes.CDLL
) -> None:
    a, b = dougong.Stream(device), dougong.Stream(device)
    with dougong.stream(a):
        first = block(3 * MIB, device)
        where = address(first)
    library.queue_hold(1)
    with dougong.stream(a):
        pending = dougong.tensor([1.0], device=device)  # queued, not done
        del first
    with dougong.stream(b):
        second = block(3 * MIB, device)
        assert not where <= address(second) < where + 20 * MIB
    library.queue_hold(0)
    a.synchronize()
    del pending
    before = device.memory_stats()["device_allocations"]
    with dougong.stream(b):
        others = [block(9 * MIB, device) for _ in range(3)]
    assert any(where - 20 * MIB < address(t) < where + 20 * MIB for t in others)
    assert device.memory_stats()["device_allocations"] <= before + 1


def test_a_recorded_stream_holds_the_block_back(device: dougong.Device, library: ctypes.CDLL) -> None:
    other = dougong.Stream(device)
    tensor = block(1000, device)
    where = address(tensor)
    library.queue_hold(1)
    with dougong.stream(other):
        pending = dougong.tensor([1.0], device=device)
    _core._record_stream(tensor, other)
    del tensor
    assert all(address(block(1000, device)) != where for _ in range(5))
    library.queue_hold(0)
    device.synchronize()
    del pending
    device.empty_cache()
    assert device.memory_stats()["allocated"] == 0


def test_many_short_lived_streams_do_not_pile_up_memory(device: dougong.Device) -> None:
    for _ in range(100):
        stream = dougong.Stream(device)
        with dougong.stream(stream):
            block(MIB, device)
        stream.synchronize()
    assert device.memory_stats()["reserved"] <= 8 * MIB


def test_memory_of_another_stream_is_used_before_giving_up(device: dougong.Device) -> None:
    with dougong.stream(dougong.Stream(device)):
        keep = [block(9 * MIB, device) for _ in range(6)]
        del keep[::2]  # no segment is wholly free: 9 of 20 MiB are in use in most
    device.synchronize()
    mine = [block(9 * MIB, device) for _ in range(3)]
    assert len({address(t) for t in mine + keep}) == 6


def test_threads_never_share_a_block(device: dougong.Device) -> None:
    failures: list[str] = []

    def work(number: int) -> None:
        choose = random.Random(number)
        live: list[tuple[dougong.Tensor, int]] = []
        for step in range(300):
            value = number * 1000 + step
            live.append((dougong.tensor([value] * choose.randint(1, 3000), device=device), value))
            if len(live) > 5:
                tensor, expected = live.pop(choose.randrange(len(live)))
                if set(tensor.numpy().tolist()) != {expected}:
                    failures.append(f"thread {number}, step {step}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_the_snapshot_covers_every_segment(device: dougong.Device) -> None:
    keep = [block(size, device) for size in (100, 5000, 2 * MIB)]
    snapshot = device.memory_snapshot()
    for segment in snapshot:
        assert sum(b["size"] for b in segment["blocks"]) == segment["size"]
        assert [b["offset"] for b in segment["blocks"]] == sorted(b["offset"] for b in segment["blocks"])
    used = [b["requested"] for s in snapshot for b in s["blocks"] if b["state"] == "in use"]
    assert sorted(used) == [t.numel() for t in keep]


def test_poison_fills_fresh_and_recycled_blocks(run_python, named: Named) -> None:
    code = """
        import sys, dougong
        dougong.load_plugin(sys.argv[1])
        for size in (10, 10, 5000, 2 << 20):
            t = dougong.empty(size, dtype=dougong.uint8, device="poisoned:0")
            assert set(t.numpy().tolist()) == {255}
            u = dougong.tensor([7] * size, dtype=dougong.uint8, device="poisoned:0")
            del t, u
    """
    run_python(code, named("poisoned"), DOUGONG_ALLOCATOR="poison")


@pytest.mark.parametrize(("where", "side"), [("100", "behind"), ("-1", "before")])
def test_canary_names_a_block_that_was_written_outside(run_python, named: Named, where: str, side: str) -> None:
    code = """
        import ctypes, sys, dougong
        dougong.load_plugin(sys.argv[1])
        x = dougong.tensor([1.0, 2.0], device="guarded:0")
        assert (x + x).numpy().tolist() == [2.0, 4.0]
        t = dougong.empty(100, dtype=dougong.uint8, device="guarded:0")
        blocks = [b for segment in dougong.device("guarded:0").memory_snapshot() for b in segment["blocks"]]
        size = next(b["size"] for b in blocks if b["requested"] == 100)
        at = int(sys.argv[2])
        ctypes.memset(dougong._core._data_ptr(t) + (at if at < 0 else size - 512), 0, 1)
        del t
        try:
            dougong.synchronize()
        except dougong.InternalError as error:
            print(error)
        y = dougong.tensor([1.0], device="guarded:0")
    """
    done = run_python(code, named("guarded"), where, DOUGONG_ALLOCATOR="canary")
    assert f"the guard {side} the block of 100 bytes" in done.stdout
    assert done.stdout.strip() in done.stderr


def test_canary_is_silent_about_good_work(run_python, named: Named) -> None:
    code = """
        import sys, dougong
        dougong.load_plugin(sys.argv[1])
        for size in (1, 100, 5000, 3 << 20):
            x = dougong.zeros(size, device="guarded:0")
            (x + 1).numpy()
            del x
        dougong.synchronize()
    """
    assert run_python(code, named("guarded"), DOUGONG_ALLOCATOR="canary").stderr == ""


def test_an_unknown_mode_is_refused(run_python, named: Named) -> None:
    code = """
        import sys, dougong
        dougong.load_plugin(sys.argv[1])
        try:
            dougong.device("acme:0")
        except dougong.InvalidArgumentError as error:
            assert 'wanted poison or canary, found "fast"' in str(error)
        else:
            raise AssertionError
    """
    run_python(code, named("acme"), DOUGONG_ALLOCATOR="fast")
