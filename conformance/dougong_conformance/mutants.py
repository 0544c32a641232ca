"""Judges the judge: plants faults in a correct plugin, one at a time, and counts how many are caught.

The faults are C++ in conformance/mutants. They wrap the plugin `cpu`, and faults of streams and events a correct
asynchronous plugin. A fault is killed when a case fails; the unmutated wrapper must fail none of the same cases.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import click

from . import header
from .case import Case, load_cases
from .pool import Outcome, Pool, Target
from .report import write_json
from .resolve import resolve
from .run import CannotJudge

LEVELS = ("abi", "memory", "stream", "kernel", "grad")
UNMUTATED = "none"
CUT_SHORT = 20.0  # seconds for one case: a fault that hangs is killed by its deadline


@dataclass(frozen=True)
class Fault:
    """``look`` are globs of cases, where the fault is looked for first; if they all pass, all levels are run."""

    name: str
    look: tuple[str, ...]


def _faults(**looks: str) -> tuple[Fault, ...]:
    return tuple(Fault(name, tuple(look.split())) for name, look in looks.items())


SYNCHRONOUS = _faults(
    input_strides="kernel/neg/float32/*/transposed",
    output_strides="kernel/neg/float32/*/transposed",
    input_offset="kernel/neg/float32/*/offset",
    output_offset="kernel/neg/float32/*/offset",
    stride_zero="kernel/add/float32/*/broadcast",
    negative_strides="kernel/neg/float32/*/reversed",
    stale_strides="kernel/neg/float32/*/*",
    overrun="kernel/relu/float32/*/*",
    fills_gaps="kernel/relu/float32/*/sliced",
    partial_tile="kernel/exp/float32/*/dense",
    past_1024="kernel/neg/float32/*/dense",
    long_axis="kernel/sum/float32/*/dense",
    bfloat16_inputs="kernel/matmul/float32/*/dense",
    tf32_inputs="kernel/sum/float32/*/dense kernel/matmul/float32/*/dense",
    narrow_accumulator="kernel/sum/bfloat16/*/dense",
    drops_nan="kernel/relu/float32/*/dense",
    truncates_cast="kernel/cast/float32-bfloat16/*/dense",
    truncates_product="kernel/matmul/bfloat16/*/dense",
    old_output="kernel/matmul/float32/*/dense",
    flushes="kernel/mul/float32/*/dense kernel/neg/float32/*/dense",
    int64_as_int32="kernel/neg/int64/*/dense",
    negative_zero="kernel/neg/float32/*/dense",
    true_is_255="kernel/eq/float32/*/dense",
    only_one_is_true="kernel/logical_not/bool/*/dense kernel/where/*/*/dense",
    not_deterministic="kernel/sum/float32/*/dense",
    lies_about_support="kernel/neg/float64/*/dense",
    refuses_late="kernel/neg/float16/*/dense",
    axis_of_one="kernel/softmax/float32/*/dense",
    empty_input="kernel/sum/float32/*/dense",
    hides_out_of_range="kernel/gather/*/*/dense",
    writes_out_of_range="kernel/gather/*/*/dense",
    no_negative_index="kernel/gather/*/*/dense",
    changes_an_input="kernel/neg/float32/*/dense",
    unknown_status="kernel/neg/float32/*/dense",
    second_output="kernel/max_pool2d/float32/*/dense kernel/layer_norm/float32/*/dense",
    crashes="kernel/exp/float32/*/dense",
    exits="kernel/exp/float32/*/dense",
    throws="kernel/exp/float32/*/dense",
    workspace_overrun="kernel/neg/float32/*/dense",
    dirty_workspace="kernel/neg/float32/*/dense",
    plan_serves_once="kernel/neg/float32/*/dense",
    forgotten_term="grad/softmax/device/last grad/softmax/device-corners/*",
    forgotten_broadcast="grad/add/device/broadcast-axes grad/mul/device/broadcast-axes",
    other_side="grad/relu/kink-*",
    leaks="memory/*",
    misaligned="memory/*",
    upload_last_byte="memory/*",
    download_last_byte="memory/*",
    copy_last_byte="memory/*",
    copy_offset="memory/*",
    fill_offset="memory/*",
    fill_like_memset="memory/*",
    late_read="memory/*",
    device_count="abi/*",
    any_index="abi/*",
    any_memory_kind="memory/*",
    shared_memory="memory/*",
    odd_alignment="abi/*",
    half_a_group="abi/*",
    required_slot="abi/*",
    absurd_size="abi/*",
)
ASYNCHRONOUS = _faults(
    early_event="stream/event*",
    stream_query="stream/query*",
    no_synchronize="stream/synchronize*",
    no_wait="stream/*wait*",
    uncovered_copies="stream/*",
    uncovered_fills="stream/*",
    callback_twice="stream/callback*",
    callback_early="stream/callback*",
    records_once="stream/event*",
    no_time="stream/event*",
)


@dataclass
class Tally:
    """What became of the faults. ``kills`` names the case that caught each."""

    kills: dict[str, str] = field(default_factory=dict)
    survivors: list[str] = field(default_factory=list)
    complaints: dict[str, str] = field(default_factory=dict)  # of the unmutated wrapper

    @property
    def planted(self) -> int:
        return len(self.kills) + len(self.survivors)

    @property
    def clean(self) -> bool:
        return not self.survivors and not self.complaints

    def add(self, other: Tally) -> None:
        self.kills |= other.kills
        self.survivors += other.survivors
        self.complaints |= other.complaints

    def as_json(self) -> dict:
        return {
            "planted": self.planted,
            "killed": len(self.kills),
            "survivors": self.survivors,
            "kills": self.kills,
            "unmutated": self.complaints,
        }


class Nursery:
    """A folder with the mutants of one correct plugin: compiled once, a copy of the library a fault."""

    def __init__(self, base: Path, folder: Path) -> None:
        self._folder = folder
        self._library = folder / "mutant.so"
        sources = sorted(sources_folder().glob("*.cc"))
        compiler = os.environ.get("CXX", "c++")
        command = [compiler, "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"]
        command += [f"-Wl,--version-script={sources_folder() / 'exports.map'}"]
        command += [f"-I{header.include_folder()}", f'-DMUTANT_BASE="{base}"', *map(str, sources)]
        run_compiler([*command, "-o", str(self._library), "-ldl"])

    def grow(self, fault: str) -> Target:
        name = f"mutant_{fault}"
        path = self._folder / f"libdg_{name}.so"
        shutil.copyfile(self._library, path)
        return Target(name, 0, path)


def sources_folder() -> Path:
    return header.find("conformance/mutants", "dougong_conformance_mutants")


def run_compiler(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise CannotJudge(f"the mutants need a C++ compiler (set CXX): {error}") from None
    if done.returncode:
        raise CannotJudge(f"the mutants do not compile: {' '.join(command)}\n{done.stderr}")


def first_failure(target: Target, cases: list[Case]) -> tuple[str, str] | None:
    """The id of the first case that fails, and its sentence."""
    found: list[tuple[str, str]] = []

    def done(case: Case, outcome: Outcome) -> None:
        if outcome.verdict == "fail":
            found.append((case.id, outcome.error))

    pool = Pool(target, seed=0, strict=False, deadline=CUT_SHORT)
    try:
        pool.run(cases, 1, done, lambda: bool(found))
    finally:
        pool.close()
    return found[0] if found else None


def judge(
    nursery: Nursery,
    faults: Iterable[Fault],
    jobs: int,
    progress: Callable[[str], None] = lambda line: None,
    everything: list[Case] | None = None,
) -> Tally:
    """Every fault; and the wrapper without a fault, on all cases that a fault was looked for in or found by."""
    faults = list(faults)
    everything = load_cases(LEVELS) if everything is None else everything
    looked_at = matching(everything, [glob for fault in faults for glob in fault.look])
    tally = Tally()
    with ThreadPoolExecutor(jobs) as threads:
        clean = threads.submit(first_failure, nursery.grow(UNMUTATED), looked_at)
        for fault, killer in threads.map(lambda fault: (fault, _hunt(nursery, fault, everything)), faults):
            _record(tally, fault, killer, progress)
        elsewhere = [case for case in everything if case.id in tally.kills.values() and case not in looked_at]
        complaint = clean.result() or first_failure(nursery.grow(UNMUTATED), elsewhere)
    if complaint:
        tally.complaints[complaint[0]] = complaint[1]
        progress(f"the plugin without a fault fails {complaint[0]}: {complaint[1]}")
    return tally


def _record(tally: Tally, fault: Fault, killer: tuple[str, str] | None, progress: Callable[[str], None]) -> None:
    if killer is None:
        tally.survivors.append(fault.name)
        progress(f"SURVIVED  {fault.name}")
    else:
        tally.kills[fault.name] = killer[0]
        progress(f"killed    {fault.name}: {killer[0]}: {killer[1].splitlines()[0]}")


def _hunt(nursery: Nursery, fault: Fault, everything: list[Case]) -> tuple[str, str] | None:
    target = nursery.grow(fault.name)
    near = matching(everything, fault.look)
    return first_failure(target, near) or first_failure(target, [case for case in everything if case not in near])


def matching(cases: list[Case], globs: Iterable[str]) -> list[Case]:
    patterns = [re.compile(fnmatch.translate(glob)) for glob in globs]
    return [case for case in cases if any(pattern.match(case.id) for pattern in patterns)]


def asynchronous_base(folder: Path) -> Path:
    """A correct asynchronous plugin: `sim` where it is installed, else the one of the judge's own tests."""
    try:
        return resolve("sim:0", None).library
    except CannotJudge:
        source = header.find("conformance/tests/plugins/queue.c", "dougong_conformance_queue.c")
    library = folder / "libdg_queue.so"
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-fPIC", "-shared", "-pthread"]
    run_compiler([*command, f"-I{header.include_folder()}", str(source), "-o", str(library)])
    return library


def main(json_file: str | None = None, base: Path | None = None) -> int:
    """Plants all faults. Exit code 0 if each is killed and the unmutated plugin passes, 1 if not."""
    started, tally = time.monotonic(), Tally()
    jobs = min(4, os.cpu_count() or 1)
    with tempfile.TemporaryDirectory(prefix="dougong-mutants-") as name:
        for kind, faults in (("synchronous", SYNCHRONOUS), ("asynchronous", ASYNCHRONOUS)):
            folder = Path(name) / kind
            folder.mkdir()
            correct = base if base and kind == "synchronous" else _base(kind, folder)
            tally.add(judge(Nursery(correct, folder), faults, jobs, click.echo))
    if json_file:
        write_json(json_file, tally.as_json())
    rate = 100 * len(tally.kills) / tally.planted
    seconds = time.monotonic() - started
    click.echo(f"{len(tally.kills)} of {tally.planted} planted faults were caught ({rate:.0f} %) in {seconds:.0f} s")
    return 0 if tally.clean else 1


def _base(kind: str, folder: Path) -> Path:
    return resolve("cpu:0", None).library if kind == "synchronous" else asynchronous_base(folder)
