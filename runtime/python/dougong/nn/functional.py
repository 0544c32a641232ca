"""Layers as functions: PyTorch's names, arguments and meanings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from .. import _core, _creation, _random
from .._core import Tensor

_ops = _core.ops
_Size = int | Sequence[int]

relu = _ops.relu
sigmoid = _ops.sigmoid
tanh = _ops.tanh


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, over the last axis of the input."""
    if weight.ndim != 2 or input.ndim == 0 or input.shape[-1] != weight.shape[1]:
        raise _core.InvalidArgumentError(
            f"linear: the last axis of input must be the last of weight (out, in); found input {input.shape}, "
            f"weight {weight.shape}"
        )
    rows = input if input.ndim <= 2 else input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    result = _ops.matmul(rows, weight.T)
    if bias is not None:
        result = _ops.add(result, bias)
    return result if input.ndim <= 2 else result.reshape(*input.shape[:-1], weight.shape[0])


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function; ``approximate="tanh"`` takes the tanh formula instead."""
    if approximate == "none":
        return _ops.gelu(input)
    if approximate != "tanh":
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh'; found {approximate!r}")
    inner = math.sqrt(2 / math.pi) * (input + 0.044715 * (input * input * input))
    return 0.5 * input * (1 + _ops.tanh(inner))


def softmax(input: Tensor, dim: int = -1, dtype: _core.dtype | None = None) -> Tensor:
    return _ops.softmax(input if dtype is None else input.to(dtype=dtype), dim)


def log_softmax(input: Tensor, dim: int = -1, dtype: _core.dtype | None = None) -> Tensor:
    return _ops.log_softmax(input if dtype is None else input.to(dtype=dtype), dim)


def layer_norm(
    input: Tensor,
    normalized_shape: _Size,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape:
        raise _core.InvalidArgumentError(
            f"layer_norm: the last axes of input must be {shape}; found input {input.shape}"
        )
    return _ops.layer_norm(input, weight, bias, len(shape), eps)


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


# -- random --------------------------------------------------------------------------------------------------------


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
    draw = _random.draw(_ops.uniform, input.shape, _core.float32, input.device, generator)
    kept = _ops.masked_fill(input, _ops.lt(draw, p), 0)
    return kept if p == 1 else kept * (1 / (1 - p))


# -- images --------------------------------------------------------------------------------------------------------


def _pair(size: _Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Size = 1,
    padding: _Size | str = 0,
    dilation: _Size = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of images (batch, channels, height, width), or of one without the batch.

    ``padding="same"`` keeps height and width (stride 1), ``"valid"`` pads nothing.
    """
    if input.ndim == 3:
        return conv2d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    if isinstance(padding, str):
        input, padding = _padded_by_name(input, weight, padding, stride, dilation)
    return _ops.conv2d(input, weight, bias, _pair(stride), _pair(padding), _pair(dilation), groups)


def _padded_by_name(
    input: Tensor, weight: Tensor, padding: str, stride: _Size, dilation: _Size
) -> tuple[Tensor, _Size]:
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise ValueError(f"conv2d: padding must be numbers, 'valid' or 'same'; found {padding!r}")
    if _pair(stride) != (1, 1):
        raise ValueError(f"conv2d: padding='same' needs stride 1; found {stride}")
    total = [d * (size - 1) for d, size in zip(_pair(dilation), weight.shape[-2:], strict=True)]
    if all(t % 2 == 0 for t in total):
        return input, [t // 2 for t in total]
    height, width = total
    return pad(input, [width // 2, width - width // 2, height // 2, height - height // 2]), 0


def max_pool2d(
    input: Tensor,
    kernel_size: _Size,
    stride: _Size | None = None,
    padding: _Size = 0,
    dilation: _Size = 1,
) -> Tensor:
    """The greatest value in each window; windows lie side by side unless a stride is given."""
    if input.ndim == 3:
        return max_pool2d(input.unsqueeze(0), kernel_size, stride, padding, dilation).squeeze(0)
    stride = kernel_size if stride is None else stride
    return _ops.max_pool2d(input, _pair(kernel_size), _pair(stride), _pair(padding), _pair(dilation))


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Values put around the last axes: `pad` is (before, after) of the last axis, then of the one before it, ..."""
    if mode != "constant":
        raise _core.UnimplementedError(f"pad: mode {mode!r} is not there yet; 'constant' is")
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise _core.InvalidArgumentError(
            f"pad takes two numbers an axis, for at most {input.ndim} axes; found {len(pad)} for shape {input.shape}"
        )
    by_axis = [0] * (2 * input.ndim - len(pad))
    for last in range(len(pad) - 2, -1, -2):
        by_axis += pad[last : last + 2]
    return _ops.pad(input, by_axis, 0 if value is None else value)


# -- losses --------------------------------------------------------------------------------------------------------


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum'; found {reduction!r}")
    return loss if reduction == "none" else _ops.mean(loss) if reduction == "mean" else _ops.sum(loss)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squared differences. Shapes that differ broadcast, with a warning: it is mostly a mistake."""
    if input.shape != target.shape:
        warnings.warn(
            f"mse_loss: input has shape {input.shape}, target {target.shape}; they are broadcast", stacklevel=2
        )
    difference = input - target
    return _reduced(difference * difference, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative log likelihood of the target under softmax of the input.

    The classes are axis 1 of the input, or axis 0 of an input with one axis. The target holds class indices and has
    the input's shape without that axis, or it holds probabilities and has the input's shape.
    """
    axis = 0 if input.ndim == 1 else 1
    if input.ndim and target.shape == input.shape and target.dtype.is_floating_point:
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, axis)
    wanted = input.shape[:axis] + input.shape[axis + 1 :]
    if input.ndim == 0 or target.shape != wanted:
        raise _core.InvalidArgumentError(
            f"cross_entropy: for input {input.shape} the target must be class indices of shape {wanted}; found "
            f"{target.dtype!r} of shape {target.shape}"
        )
    if input.ndim != 2:
        order = [i for i in range(input.ndim) if i != axis] + [axis]
        input = input.permute(order).reshape(math.prod(wanted), input.shape[axis])
    loss = _ops.cross_entropy(
        input, target.reshape(math.prod(wanted)), weight, reduction, ignore_index, label_smoothing
    )
    return loss.reshape(wanted) if reduction == "none" else loss


def _cross_entropy_of_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float, axis: int
) -> Tensor:
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
    if weight is not None:
        target = target * weight.reshape(*[-1 if i == axis else 1 for i in range(input.ndim)])
    loss = -_ops.sum(target * _ops.log_softmax(input, axis), axis)
    return _reduced(loss, reduction)


# -- attention -----------------------------------------------------------------------------------------------------


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query @ key.T * scale) @ value over the last two axes (positions, features).

    A bool mask says which keys take part; a float mask is added to the scores. A query that sees no key gives 0, and
    its gradients are 0.
    """
    if is_causal and attn_mask is not None:
        raise ValueError("attention: give either attn_mask or is_causal")
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = _ops.matmul(query, key.mT) * scale
    if is_causal:
        attn_mask = _causal_mask(query.shape[-2], key.shape[-2], query.device)
    if attn_mask is None:
        return _ops.matmul(dropout(softmax(scores), dropout_p), value)
    weights = _masked_softmax(scores, attn_mask)
    return _ops.matmul(dropout(weights, dropout_p), value)


def _causal_mask(queries: int, keys: int, device: _core.Device) -> Tensor:
    """Query i sees the keys 0 .. i."""
    rows = _creation.arange(queries, device=device).unsqueeze(1)
    return _ops.le(_creation.arange(keys, device=device), rows)


def _masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype == _core.bool_:
        blocked = _ops.logical_not(mask)
    else:
        blocked = _ops.eq(mask, -math.inf)
        scores = scores + _ops.masked_fill(mask, blocked, 0)
    nothing_seen = _ops.min(blocked, -1, True)
    # Rows that see nothing are computed as if they saw all, so that no NaN arises on either way.
    hidden = _ops.logical_and(blocked, _ops.logical_not(nothing_seen))
    weights = softmax(_ops.masked_fill(scores, hidden, -math.inf))
    return _ops.masked_fill(weights, nothing_seen, 0)
