"""Linear maps, activations, embeddings and dropout."""

from __future__ import annotations

import math

from ... import _core, _creation, _random
from ..._core import Tensor

_ops = _core.ops
_FUSED = (_core.float32, _core.float64)  # narrower ones may have a fast product and no fast addmm


relu = _ops.relu
sigmoid = _ops.sigmoid
tanh = _ops.tanh


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all broadcast to."""
    ndim = max(len(shape) for shape in shapes)
    result = []
    for sizes in zip(*[(1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes], strict=True):
        wanted = {size for size in sizes if size != 1} or {1}
        if len(wanted) > 1:
            raise _core.InvalidArgumentError(f"these shapes do not broadcast: {', '.join(map(str, shapes))}")
        result.append(wanted.pop())
    return tuple(result)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, over the last axis of the input."""
    if weight.ndim != 2 or input.ndim == 0 or input.shape[-1] != weight.shape[1]:
        raise _core.InvalidArgumentError(
            f"linear: the last axis of input must be the last of weight (out, in); found input {input.shape}, "
            f"weight {weight.shape}"
        )
    rows = input if input.ndim <= 2 else input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    if bias is not None and input.dtype in _FUSED:
        result = _ops.addmm(bias, rows, weight.T) if rows.ndim == 2 else _ops.matmul(rows, weight.T) + bias
    else:
        result = _ops.matmul(rows, weight.T)
        result = result if bias is None else _ops.add(result, bias)
    return result if input.ndim <= 2 else result.reshape(*input.shape[:-1], weight.shape[0])


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function; ``approximate="tanh"`` takes the tanh formula instead."""
    if approximate == "none":
        return _ops.gelu(input)
    if approximate != "tanh":
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh'; found {approximate!r}")
    return _ops.gelu_tanh(input)


def checked_padding_idx(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise ValueError(f"padding_idx {padding_idx} is out of range for {rows} rows")
    return padding_idx % rows


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of weight, picked by the integers in input; the row `padding_idx` gets no gradient."""
    rows = _ops.embedding(weight, input)
    padding_idx = checked_padding_idx(padding_idx, weight.shape[0])
    if padding_idx is None or not rows.requires_grad:
        return rows
    return _ops.where(_ops.eq(input, padding_idx).unsqueeze(-1), rows.detach(), rows)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """int64 vectors with a 1 at each index; -1 takes the greatest index plus one for the number of classes."""
    if input.dtype.is_floating_point or input.dtype == _core.bool_:
        raise TypeError(f"one_hot takes integers; found {input.dtype!r}")
    if num_classes == -1:
        if input.numel() == 0:
            raise ValueError("one_hot: the number of classes cannot be told from no index")
        num_classes = int(_ops.max(input).item()) + 1
    if input.numel() and not 0 <= _ops.min(input).item() <= _ops.max(input).item() < num_classes:
        raise _core.OutOfRangeError(f"one_hot: every index must be from 0 to {num_classes - 1}")
    classes = _creation.arange(num_classes, dtype=input.dtype, device=input.device)
    return _ops.eq(input.unsqueeze(-1), classes).to(dtype=_core.int64)


def checked_probability(p: float) -> float:
    if not 0 <= p <= 1:
        raise ValueError(f"a dropout probability is from 0 to 1; found {p}")
    return p


def dropout(input: Tensor, p: float = 0.5, training: bool = True, generator: _random.Generator | None = None) -> Tensor:
    """Zeroes elements with probability p and scales the others by 1 / (1 - p); the input itself when not training.

    It draws float32 numbers whatever the input's dtype, so that the same seed drops the same elements.
    """
    checked_probability(p)
    if not training or p == 0:
        return input
    generator = generator or _random.default_generator(input.device)
    return _ops.dropout(input, p, generator.seed, generator.take(input.numel(), _core.float32.itemsize))
