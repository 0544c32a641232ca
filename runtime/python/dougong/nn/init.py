"""Values to begin with. Each function fills the tensor in place, without a history, and returns it."""

from __future__ import annotations

import math

from .. import _core, _creation, _numpy
from .._autograd import no_grad
from .._core import Tensor
from .._random import Generator

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
_GAINS |= {f"conv{kind}{axes}d": 1.0 for kind in ("", "_transpose") for axes in (1, 2, 3)}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much a nonlinearity shrinks what passes through it; `param` is the slope of leaky_relu."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"no gain is known for {nonlinearity!r}; known: leaky_relu, {', '.join(_GAINS)}")
    return _GAINS[nonlinearity]


def fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input."""
    if tensor.ndim < 2:
        raise ValueError(f"fan in and fan out need at least two axes; found shape {tensor.shape}")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform in [a, b)."""
    draw = _creation.rand(tensor.shape, dtype=tensor.dtype, device=tensor.device, generator=generator)
    return tensor.copy_(draw * (b - a) + a)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    draw = _creation.randn(tensor.shape, dtype=tensor.dtype, device=tensor.device, generator=generator)
    return tensor.copy_(draw * std + mean)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform within gain * sqrt(6 / (fan in + fan out)) (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out'; found {mode!r}")
    fan = fan_in_and_fan_out(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform within gain * sqrt(3 / fan) (He et al., 2015)."""
    if tensor.numel() == 0:
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    if tensor.numel() == 0:
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _flat(tensor: Tensor, wanted: int) -> tuple[int, int]:
    if tensor.ndim < wanted:
        raise ValueError(f"wanted a tensor of at least {wanted} axes; found shape {tensor.shape}")
    return tensor.shape[0], math.prod(tensor.shape[1:])


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix, also where rows and columns differ in number."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_ takes a matrix; found shape {tensor.shape}")
    zeros_(tensor)
    _fill(tensor, [(i, i) for i in range(min(tensor.shape))], 1.0)
    return tensor


def _fill(tensor: Tensor, places: list[tuple[int, ...]], value: float) -> None:
    """Writes one value to many places."""
    import numpy as np

    array = np.array(_numpy.to_numpy(tensor.detach().to(dtype=_core.float64).cpu()))
    if places:
        array[tuple(np.array(places).T)] = value
    with no_grad():
        tensor.copy_(_creation.tensor(array))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight that passes each input channel on, as far as there are output channels in its group."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"dirac_ takes the weight of a convolution, of 3 to 5 axes; found shape {tensor.shape}")
    if groups < 1 or tensor.shape[0] % groups:
        raise ValueError(f"dirac_: {tensor.shape[0]} output channels are no multiple of {groups} groups")
    of_group = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    channels = [(g * of_group + c, c) for g in range(groups) for c in range(min(of_group, tensor.shape[1]))]
    zeros_(tensor)
    _fill(tensor, [(*pair, *middle) for pair in channels], 1.0)
    return tensor


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """`gain` times a matrix (axis 0 by all others) with orthonormal rows, or columns if it is taller than wide."""
    import numpy as np

    rows, columns = _flat(tensor, 2)
    if tensor.numel() == 0:
        return tensor
    shape = max(rows, columns), min(rows, columns)
    draw = _creation.randn(shape, dtype=_core.float64, device="cpu:0", generator=generator)
    q, r = np.linalg.qr(_numpy.to_numpy(draw))
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)  # so that every orthogonal matrix is as likely
    q = q if rows >= columns else q.T
    return tensor.copy_(_creation.tensor(gain * q.reshape(tensor.shape)))


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal, but only values from a to b: a uniform draw between the two, in terms of probability, mapped back."""
    if not (std > 0 and a <= b):
        raise ValueError(f"trunc_normal_: wanted std > 0 and a <= b; found std {std}, a {a}, b {b}")
    low, high = (a - mean) / (std * math.sqrt(2)), (b - mean) / (std * math.sqrt(2))
    draw = _creation.rand(tensor.shape, dtype=_core.float64, device="cpu:0", generator=generator)
    wanted = draw * (math.erf(high) - math.erf(low)) + math.erf(low)
    root = _inverse_erf(wanted, max(low, -6.0), min(high, 6.0)) if low < 6 and high > -6 else wanted * 0 + low
    return tensor.copy_(_core.ops.clamp(root * (std * math.sqrt(2)) + mean, a, b))


def _inverse_erf(y: Tensor, low: float, high: float) -> Tensor:
    """Where from low to high erf is y: halves the range until float32 sees no difference."""
    below, width = _creation.full_like(y, low), high - low
    for _ in range(40):
        width /= 2
        middle = below + width
        below = _core.ops.where(_core.ops.lt(_core.ops.erf(middle), y), middle, below)
    return below


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal with mean 0, but the share `sparsity` of each column is zero (Martens, 2010)."""
    if tensor.ndim != 2:
        raise ValueError(f"sparse_ takes a matrix; found shape {tensor.shape}")
    rows, columns = tensor.shape
    normal_(tensor, 0.0, std, generator)
    zeros = math.ceil(sparsity * rows)
    order = [_creation.randperm(rows, device="cpu:0", generator=generator).tolist() for _ in range(columns)]
    _fill(tensor, [(row, column) for column in range(columns) for row in order[column][:zeros]], 0.0)
    return tensor
