"""What is measured: pairs of functions that do the same work, ours and the peer's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """`ours` and `peer` run the work once; `target` is the greatest ratio of our time to the peer's that is wanted;
    `flops` are the operations of one run, where they are what takes the time.
    """

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    target: float
    flops: float | None = None


def cases(dougong: Any, torch: Any) -> Iterator[Case]:
    """All cases, built when they are asked for."""
    yield add_one_element(dougong, torch)
    for n, target in ((64, 0.8), (1024, 1.05)):
        yield matmul(dougong, torch, n, target)


def add_one_element(dougong: Any, torch: Any) -> Case:
    a, b = dougong.ones(1), dougong.ones(1)
    c, d = torch.ones(1), torch.ones(1)
    return Case("add/1-element", lambda: a + b, lambda: c + d, 0.5)


def matmul(dougong: Any, torch: Any, n: int, target: float) -> Case:
    """float32, both with `out=`, so that the allocator is not measured."""
    a, b, out = dougong.rand(n, n), dougong.rand(n, n), dougong.empty(n, n)
    c, d = (torch.from_numpy(x.numpy().copy()) for x in (a, b))
    peer_out = torch.empty(n, n)
    ours = dougong.matmul
    name, flops = f"matmul/{n}x{n}x{n}", 2.0 * n**3
    return Case(name, lambda: ours(a, b, out=out), lambda: torch.matmul(c, d, out=peer_out), target, flops)
