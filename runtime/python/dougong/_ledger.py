"""What the plugin's kernels did not do themselves: counted, and forbidden in strict mode."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from . import _core


class LedgerRow(NamedTuple):
    """`step` is ``host`` for a call that the CPU computed; ``contiguous``, ``cast`` and ``aligned`` are repairs of the
    arguments before the plugin's own kernel."""

    device: str
    op: str
    step: str
    count: int


def ledger() -> list[LedgerRow]:
    """Every row since the start or the last :func:`reset_fallbacks`."""
    return [LedgerRow(*row) for row in _core._ledger_rows()]


def fallbacks(device: object = None) -> dict[str, int]:
    """How often each op was computed by the host instead of the device, of one device or of all."""
    wanted = None if device is None else str(_core.device(device))
    counts: Counter[str] = Counter()
    for row in ledger():
        if row.step == "host" and wanted in (None, row.device):
            counts[row.op] += row.count
    return dict(counts)


def reset_fallbacks() -> None:
    _core._ledger_reset()


class strict:
    """Within it a call that the device has no kernel for raises UnsupportedError instead of going to the host."""

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled

    def __enter__(self) -> None:
        self._before = _core._ledger_strict()
        _core._set_ledger_strict(self._enabled)

    def __exit__(self, *_: object) -> None:
        _core._set_ledger_strict(self._before)
