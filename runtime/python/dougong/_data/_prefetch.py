"""Batches brought to a device before they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _core
from ._collate import mapped_tensors


def prefetch(batches: Iterable[Any], device: Any, ahead: int = 1) -> Iterator[Any]:
    """The batches with their tensors on the device, each copied on a stream of its own while others are worked on.

    ``for x, y in prefetch(loader, "acme:0"):``. The copies overlap with the work if the loader pins its memory. Work
    that is queued on the current stream after a batch was taken comes after its copy.
    """
    if ahead < 1:
        raise ValueError(f"ahead must be positive; found {ahead}")
    side = _core.Stream(device)
    under_way: deque[tuple[Any, _core.Event]] = deque()
    for batch in batches:
        with _core.stream(side):
            moved = mapped_tensors(lambda tensor: tensor.to(device=device, non_blocking=True), batch)
        under_way.append((moved, side.record_event()))
        if len(under_way) > ahead:
            yield _taken(*under_way.popleft(), device)
    while under_way:
        yield _taken(*under_way.popleft(), device)


def _taken(batch: Any, copied: _core.Event, device: Any) -> Any:
    current = _core.current_stream(device)
    current.wait_event(copied)
    mapped_tensors(lambda tensor: _core._record_stream(tensor, current), batch)
    return batch
