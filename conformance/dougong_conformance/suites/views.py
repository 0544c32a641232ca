"""Level grad, for what is not in the op files: views, indexing, and functions that rearrange.

All of them are linear and move numbers without changing them, so the gradient is the transposed map exactly: its
element j is the start of backward times what the map of NumPy makes of the unit tensor j. No differences are needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..case import Case, Context, Fail
from ..session import Session

LEVEL = "grad"
SHAPE = (2, 3, 4)

# By name: what a user of dougong writes (d is the package, x a tensor of SHAPE), and the same in NumPy.
Map = Callable[[Any, Any], Any]
MAPS: dict[str, tuple[Map, Callable[[np.ndarray], Any]]] = {
    "reshape": (lambda d, x: x.reshape(6, -1), lambda x: x.reshape(6, -1)),
    "view": (lambda d, x: x.view(2, 3, 2, 2), lambda x: x.reshape(2, 3, 2, 2)),
    "permute": (lambda d, x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
    "transpose": (lambda d, x: x.transpose(0, 2), lambda x: x.swapaxes(0, 2)),
    "matrix-transpose": (lambda d, x: x.mT, lambda x: x.swapaxes(1, 2)),
    "unsqueeze": (lambda d, x: x.unsqueeze(1), lambda x: x[:, None]),
    "squeeze": (lambda d, x: x[:, :1].squeeze(1), lambda x: x[:, 0]),
    "expand": (lambda d, x: x[:, :1].expand(2, 5, 4), lambda x: np.broadcast_to(x[:, :1], (2, 5, 4))),
    "broadcast-to": (lambda d, x: d.broadcast_to(x, (3, 2, 3, 4)), lambda x: np.broadcast_to(x, (3, 2, 3, 4))),
    "slice": (lambda d, x: x[:, 1:, ::2], lambda x: x[:, 1:, ::2]),
    "slice-backwards": (lambda d, x: x[:, ::-1, 3:0:-2], lambda x: x[:, ::-1, 3:0:-2]),
    "slice-empty": (lambda d, x: x[:, 3:], lambda x: x[:, 3:]),
    "select": (lambda d, x: x[1, ..., -1], lambda x: x[1, ..., -1]),
    "new-axis": (lambda d, x: x[None, :, 0, None], lambda x: x[None, :, 0, None]),
    "narrow": (lambda d, x: d.narrow(x, 2, 1, 2), lambda x: x[..., 1:3]),
    "flatten": (lambda d, x: x.flatten(), lambda x: x.ravel()),
    "flip": (lambda d, x: d.flip(x, (0, 2)), lambda x: np.flip(x, (0, 2))),
    "roll": (lambda d, x: d.roll(x, (1, -2), (1, 2)), lambda x: np.roll(x, (1, -2), (1, 2))),
    "repeat": (lambda d, x: d.repeat(x, 2, 1), lambda x: np.repeat(x, 2, 1)),
    "tile": (lambda d, x: d.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    "tril": (lambda d, x: d.tril(x, 1), lambda x: np.tril(x, 1)),
    "triu": (lambda d, x: d.triu(x, -1), lambda x: np.triu(x, -1)),
    "stack": (lambda d, x: d.stack([x, x[:, :, ::-1]], 1), lambda x: np.stack([x, x[:, :, ::-1]], 1)),
    "split": (lambda d, x: d.split(x, 3, 2)[0], lambda x: x[..., :3]),
    "chunk": (lambda d, x: d.chunk(x, 2, 1)[1], lambda x: x[:, 2:]),
    "index-select": (lambda d, x: d.index_select(x, 2, _at(d, x, [3, 0, 3])), lambda x: x[..., [3, 0, 3]]),
    "rows-by-index": (lambda d, x: x[_at(d, x, [1, 0, 1, -1])], lambda x: x[[1, 0, 1, -1]]),
    "copy": (lambda d, x: x.T.contiguous(), lambda x: x.T),
    "clone": (lambda d, x: x.clone(), lambda x: x),
    "to-host": (lambda d, x: x.cpu(), lambda x: x),
}


def _at(dougong: Any, x: Any, places: list[int]) -> Any:
    return dougong.tensor(places, device=x.device)


def cases(context: Context) -> Iterator[Case]:
    for name in MAPS:
        ask = functools.partial(is_transposed, name)
        yield Case(f"grad/views/{name}", LEVEL, ("RUN-001",), ask, summary=" ".join(is_transposed.__doc__.split()))


def is_transposed(name: str, session: Session) -> None:
    """The gradient of a view, an index or a rearrangement is the transposed map, exactly, also of strided memory."""
    dougong, device = session.load_runtime(), session.device_string
    ours, numpys = MAPS[name]
    start = np.random.default_rng(0).integers(1, 9, np.shape(numpys(np.zeros(SHAPE)))).astype(np.float32)
    wanted = _transposed(numpys, start)
    for strided in (False, True):
        x = dougong.tensor(np.zeros(SHAPE, np.float32).T if strided else np.zeros(SHAPE, np.float32), device=device)
        leaf = x.requires_grad_()
        y = ours(dougong, leaf.T if strided else leaf)
        (found,) = dougong.autograd.grad(y, leaf, dougong.tensor(start, device=y.device))
        gradient = found.cpu().numpy()
        if not np.array_equal(gradient.T if strided else gradient, wanted):
            raise Fail(f"the gradient of {name} is not the transposed map", f"wanted {wanted}\nfound {gradient}")


def _transposed(numpys: Callable[[np.ndarray], Any], start: np.ndarray) -> np.ndarray:
    units = np.eye(np.prod(SHAPE, dtype=int)).reshape(-1, *SHAPE)
    return np.array([np.sum(start * numpys(unit)) for unit in units], np.float32).reshape(SHAPE)
