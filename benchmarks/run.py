"""Measures dougong against PyTorch on the CPU, in the same process, in turns.

    python benchmarks/run.py [--json FILE] [--only GLOB] [--threads 1,2]

Both sides get the same number of threads: all cores, as both take by default, or those that --threads lists. A time is
the median of several rounds; ours and the peer's alternate, so that what else the machine does hits both. The exit
status is 0 when all targets are met, 1 when some are not, 2 when nothing was measured.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEERS = Path(__file__).resolve().parents[1] / "build" / "peers"
ROUNDS = 15
SECONDS_A_ROUND = 0.05
# Work-arounds for old BLAS builds that some machines set; they would slow one side only.
CLEARED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def repeats_for(function: Callable[[], Any]) -> int:
    """How often to call the function so that a round takes about SECONDS_A_ROUND."""
    count = 1
    while True:
        elapsed = timed(function, count)
        if elapsed > SECONDS_A_ROUND / 4:
            return max(1, round(count * SECONDS_A_ROUND / elapsed))
        count *= 4


def timed(function: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        function()
    return time.perf_counter() - start


def measure(ours: Callable[[], Any], peer: Callable[[], Any]) -> tuple[float, float]:
    """Seconds a call of both, as medians over rounds that alternate."""
    counts = repeats_for(ours), repeats_for(peer)
    rounds = [(timed(ours, counts[0]) / counts[0], timed(peer, counts[1]) / counts[1]) for _ in range(ROUNDS)]
    return statistics.median(a for a, _ in rounds), statistics.median(b for _, b in rounds)


def run_here(only: str, threads: int) -> list[dict[str, Any]]:
    """The rows of one thread count, in this process."""
    sys.path.append(str(PEERS))  # last, so that only what is missing comes from there
    import dougong
    import torch
    from cases import cases

    torch.set_num_threads(threads)
    rows = []
    for case in cases(dougong, torch):
        name = f"{case.name}/{threads}-thread"
        if not fnmatch.fnmatch(name, only):
            continue
        print(f"measuring {name}", file=sys.stderr)
        ours, peer = measure(case.ours, case.peer)
        rows.append(row(name, ours, peer, case.target, case.flops))
    return rows


def row(name: str, ours: float, peer: float, target: float, flops: float | None) -> dict[str, Any]:
    ratio = ours / peer
    result = {"name": name, "ours": ours, "peer": peer, "ratio": ratio, "target": target, "met": ratio <= target}
    return result | ({"gflops": flops / ours / 1e9} if flops else {})


def run_in_child(only: str, threads: int) -> list[dict[str, Any]]:
    """A process of its own, since thread pools are sized once."""
    environment = {k: v for k, v in os.environ.items() if k not in CLEARED}
    environment |= {"DOUGONG_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, "--only", only, "--child", str(threads)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(
            "nothing was measured: `make bench` installs the peer, benchmarks/requirements.txt names it",
            file=sys.stderr,
        )
        raise SystemExit(2)
    return json.loads(done.stdout)


def print_table(rows: list[dict[str, Any]]) -> None:
    print(f"{'case':34} {'ours':>12} {'PyTorch':>12} {'ratio':>7} {'target':>7}  met")
    for r in rows:
        times = f"{microseconds(r['ours'])} {microseconds(r['peer'])}"
        print(f"{r['name']:34} {times} {r['ratio']:7.2f} {r['target']:7.2f}  {'yes' if r['met'] else 'NO'}")


def microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:9.2f} us"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--only", default="*", help="measure the cases that match this pattern, such as 'matmul/*'")
    cores = str(len(os.sched_getaffinity(0)))
    parser.add_argument("--threads", default=cores, help="thread counts, by commas; all cores by default")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(run_here(arguments.only, arguments.child)))
        return 0
    rows = [r for threads in arguments.threads.split(",") for r in run_in_child(arguments.only, int(threads))]
    if not rows:
        print(f"no case matches {arguments.only!r}", file=sys.stderr)
        return 2
    print_table(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(r["met"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
