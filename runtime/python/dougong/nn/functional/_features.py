"""Features compared, combined and rearranged."""

from __future__ import annotations

from ... import _core, _creation
from ..._core import Tensor
from ._basic import checked_padding_idx

_ops = _core.ops


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 @ weight[k] @ input2 + bias[k] for each k, over the last axes; the other axes are the same."""
    if weight.ndim != 3 or (input1.shape[-1], input2.shape[-1]) != weight.shape[1:]:
        raise _core.InvalidArgumentError(
            f"bilinear: weight must be (out, in1, in2); found {weight.shape} for {input1.shape} and {input2.shape}"
        )
    if input1.shape[:-1] != input2.shape[:-1]:
        raise _core.InvalidArgumentError(f"bilinear: {input1.shape} and {input2.shape} differ before the last axis")
    out, in1, in2 = weight.shape
    first, second = input1.reshape(-1, in1), input2.reshape(-1, in2)
    mixed = _ops.matmul(first, weight.permute(1, 0, 2).reshape(in1, out * in2)).reshape(-1, out, in2)
    result = _ops.matmul(mixed, second.unsqueeze(-1)).reshape(*input1.shape[:-1], out)
    return result if bias is None else result + bias


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (|x1| |x2|) along an axis, where no length counts less than eps."""
    lengths = [_ops.maximum(_ops.norm(x, 2.0, dim), eps) for x in (x1, x2)]
    return _ops.sum(x1 * x2, dim) / (lengths[0] * lengths[1])


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """The input divided by its p-norm along an axis, which counts as eps at least."""
    return input / _ops.maximum(_ops.norm(input, p, dim, True), eps)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., c * r * r, h, w) as (..., c, h * r, w * r): the r * r channels of a pixel become r by r pixels."""
    r, (channels, height, width) = upscale_factor, input.shape[-3:]
    if r < 1 or channels % (r * r):
        raise _core.InvalidArgumentError(f"pixel_shuffle: {channels} channels are no multiple of {r} * {r}")
    lead = input.shape[:-3]
    n = len(lead)
    parts = input.reshape(*lead, channels // (r * r), r, r, height, width)
    moved = parts.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return moved.reshape(*lead, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of :func:`pixel_shuffle`."""
    r, (channels, height, width) = downscale_factor, input.shape[-3:]
    if r < 1 or height % r or width % r:
        raise _core.InvalidArgumentError(f"pixel_unshuffle: {height} by {width} pixels are no multiple of {r}")
    lead = input.shape[:-3]
    n = len(lead)
    parts = input.reshape(*lead, channels, height // r, r, width // r, r)
    moved = parts.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return moved.reshape(*lead, channels * r * r, height // r, width // r)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    mode: str = "mean",
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows that each bag of indices picks; a bag of none gives 0.

    `input` is (bags, indices), or one vector that `offsets` cuts into bags. `per_sample_weights`, of the same shape,
    multiply the rows of a sum. The index `padding_idx` does not count.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode must be 'sum', 'mean' or 'max'; found {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(f"embedding_bag: per_sample_weights go with mode 'sum' only; found {mode!r}")
    if (input.ndim == 1) != (offsets is not None):
        raise ValueError("embedding_bag: offsets go with a vector of indices, and with nothing else")
    absent = _ops.full(input.shape, False, _core.bool_, device=input.device)
    if offsets is not None:
        places, absent = _bags(input, offsets, include_last_offset)
        input = input[places]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[places]
    padding_idx = checked_padding_idx(padding_idx, weight.shape[0])
    if padding_idx is not None:
        absent = _ops.logical_or(absent, _ops.eq(input, padding_idx))
    return _combined(_ops.embedding(weight, input), absent.unsqueeze(-1), mode, per_sample_weights)


def _bags(input: Tensor, offsets: Tensor, include_last: bool) -> tuple[Tensor, Tensor]:
    """(bags, longest): where the indices of each bag are, filled up with place 0; and which ones were filled up."""
    begins = offsets.tolist()
    ends = begins[1:] + ([] if include_last else [input.shape[0]])
    begins = begins[: len(ends)]
    sizes = [end - begin for begin, end in zip(begins, ends, strict=True)]
    if (begins and begins[0] != 0) or min(sizes, default=0) < 0 or (ends and ends[-1] > input.shape[0]):
        raise _core.InvalidArgumentError(f"embedding_bag: offsets must rise from 0 to {input.shape[0]}: {offsets}")
    places = _creation.arange(max(sizes, default=0) if input.shape[0] else 0, device=input.device)
    absent = _ops.ge(places, _creation.tensor(sizes, dtype=_core.int64, device=input.device).unsqueeze(1))
    first = _creation.tensor(begins, dtype=_core.int64, device=input.device).unsqueeze(1)
    return _ops.masked_fill(first + places, absent, 0), absent


def _combined(rows: Tensor, absent: Tensor, mode: str, weights: Tensor | None) -> Tensor:
    if mode == "max":
        nothing = _ops.all(absent, 1)
        if rows.shape[1] == 0:
            return _ops.sum(rows, 1)
        return _ops.masked_fill(_ops.max(_ops.masked_fill(rows, absent, float("-inf")), 1), nothing, 0)
    rows = rows if weights is None else rows * weights.unsqueeze(-1)
    total = _ops.sum(_ops.masked_fill(rows, absent, 0), 1)
    if mode == "sum":
        return total
    count = _ops.sum(_ops.logical_not(absent).to(dtype=rows.dtype), 1)
    return total / _ops.maximum(count, 1)
