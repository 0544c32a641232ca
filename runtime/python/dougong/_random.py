"""Random state: one generator a device, Philox by counter.

The same seed gives the same numbers on every device, bit for bit for uniform ones. A draw of n elements uses
ceil(n / 4) counters (float64: ceil(n / 2)), and the generator's offset moves by that.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import _capture, _core

_ops = _core.ops


@dataclass
class Generator:
    """The state of one device's random numbers: a seed and how many counters were used."""

    seed: int = 0
    offset: int = 0

    def manual_seed(self, seed: int) -> Generator:
        self.set_state((seed, 0))
        return self

    def get_state(self) -> tuple[int, int]:
        return self.seed, self.offset

    def set_state(self, state: tuple[int, int]) -> None:
        seed, offset = state
        if _core._recording():
            _capture.check_seeding(self, int(seed), int(offset))
        self.seed, self.offset = _checked_seed(seed), int(offset)

    def take(self, elements: int, itemsize: int) -> int:
        """Reserves the counters of a draw; returns the first one."""
        counters = math.ceil(elements / (2 if itemsize == 8 else 4))
        if _core._recording():
            _capture.note_draw(self, counters)
        first = self.offset
        self.offset += counters
        return first


@dataclass
class _State:
    seed: int = 0
    generators: dict[str, Generator] = field(default_factory=dict)


_state = _State()


def _checked_seed(seed: int) -> int:
    seed = int(seed)
    if not 0 <= seed < 2**64:
        raise ValueError(f"a seed is an integer from 0 to 2**64 - 1; found {seed}")
    return seed


def default_generator(device: object = None) -> Generator:
    """The generator of a device, seeded by the last :func:`manual_seed`."""
    name = str(_core.device(device))
    return _state.generators.setdefault(name, Generator(_state.seed))


def manual_seed(seed: int) -> None:
    """Seeds every device, those of plugins that are loaded later too."""
    _state.seed = _checked_seed(seed)
    for generator in _state.generators.values():
        generator.manual_seed(seed)


def initial_seed() -> int:
    return _state.seed


def get_rng_state(device: object = None) -> tuple[int, int]:
    return default_generator(device).get_state()


def set_rng_state(state: tuple[int, int], device: object = None) -> None:
    default_generator(device).set_state(state)


def snapshot() -> dict[str | None, tuple[int, int]]:
    """The states of all devices' generators. That of None is the state of a generator that is made later."""
    return {None: (_state.seed, 0), **{name: g.get_state() for name, g in _state.generators.items()}}


def restore(states: dict[str | None, tuple[int, int]]) -> None:
    """Brings the generators back to a :func:`snapshot`."""
    _state.seed = states[None][0]
    for name, generator in _state.generators.items():
        generator.set_state(states.get(name, states[None]))
    for name, state in states.items():
        if name is not None and name not in _state.generators:
            _state.generators[name] = Generator(*state)


@contextlib.contextmanager
def replayed(states: dict[str | None, tuple[int, int]]) -> Iterator[None]:
    """Draws as from these states; afterwards the generators are where they were."""
    now = snapshot()
    restore(states)
    try:
        yield
    finally:
        restore(now)


def draw(
    op: object, shape: tuple[int, ...], dtype: _core.dtype, device: object, generator: Generator | None
) -> _core.Tensor:
    """Calls `uniform` or `normal` with the generator's next counters."""
    generator = generator or default_generator(device)
    first = generator.take(math.prod(shape), dtype.itemsize)
    return op(shape, dtype, generator.seed, first, device=device)


def draw_wide(
    op: object,
    shape: tuple[int, ...],
    options: tuple[float, ...],
    dtype: _core.dtype,
    device: object,
    generator: Generator | None,
) -> _core.Tensor:
    """Calls an op that is made of uniform float64 numbers, whatever its dtype."""
    generator = generator or default_generator(device)
    first = generator.take(math.prod(shape), 8)
    return op(shape, *options, dtype, generator.seed, first, device=device)
