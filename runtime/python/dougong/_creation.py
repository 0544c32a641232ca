"""Functions that make tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _core, _numpy, _random
from ._core import Tensor

_ops = _core.ops
_Shape = int | Sequence[int]


def _shape(arguments: tuple[Any, ...]) -> tuple[int, ...]:
    """f(2, 3) and f((2, 3)) mean the same."""
    if len(arguments) == 1 and not isinstance(arguments[0], int) and hasattr(arguments[0], "__iter__"):
        return tuple(arguments[0])
    return tuple(arguments)


def _finish(tensor: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new tensor with a copy of the data: numbers, nested lists, NumPy arrays, tensors.

    Python floats become float32, ints int64; arrays keep their dtype.
    """
    if isinstance(data, Tensor):
        copy = data.detach().to(device=device or data.device, dtype=dtype)
        return _finish(copy.clone() if _core._data_ptr(copy) == _core._data_ptr(data) else copy, requires_grad)
    import numpy as np

    array = np.asarray(_nested(data))
    if array.dtype.kind in "OSUMm" or array.dtype.type is np.void:
        raise TypeError(f"a tensor holds numbers; found elements of {array.dtype}: {str(data)[:60]}")
    if array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
        array = array.astype(np.float32) if dtype is None else array
    if dtype is None or dtype == _numpy.from_numpy_dtype(array.dtype):
        return _finish(_numpy.from_array(array, device), requires_grad)
    converted = _numpy.from_array(array, "cpu:0").to(dtype=dtype)  # the device may have no kernel for it
    return _finish(converted.to(device=_core.device(device)), requires_grad)


def _nested(data: Any) -> Any:
    """Lists of tensors as lists of arrays."""
    if isinstance(data, (list, tuple)):
        return [_nested(item) for item in data]
    return data.numpy() if isinstance(data, Tensor) else data


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """The object as a tensor: itself if it is one that fits, unless `copy` asks for a new one."""
    if isinstance(obj, Tensor) and not copy:
        return obj.to(device=device or obj.device, dtype=dtype)
    return tensor(obj, dtype=dtype, device=device)


def from_numpy(array: Any) -> Tensor:
    """A tensor on the CPU over the array's memory, without a copy: a write to one is seen by the other."""
    raw = array.view("uint16") if array.dtype.name == "bfloat16" else array
    return _core._share_host(raw, array.shape, array.strides, _numpy.from_numpy_dtype(array.dtype), "cpu:0")


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, without a copy where both see it."""
    if isinstance(x, Tensor):  # no DLPack device type tells our plugins apart
        capsule = None
    elif hasattr(x, "__dlpack__"):
        try:
            capsule = x.__dlpack__(max_version=(1, 1))
        except TypeError:  # a producer from before DLPack 1.0
            capsule = x.__dlpack__()
    else:
        capsule = x
    result = x.detach() if capsule is None else _core._from_capsule(capsule)
    if device is not None:
        result = result.to(device)
    return result.clone() if copy else result


def empty(*shape: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Memory with undefined content."""
    return _finish(_core.empty(_shape(shape), dtype or _core.float32, device), requires_grad)


def full(
    shape: _Shape, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Every element is `fill_value`, whose Python type chooses the dtype where none is given."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if dtype is None:
        dtype = (
            _core.bool_
            if isinstance(fill_value, bool)
            else _core.int64
            if isinstance(fill_value, int)
            else _core.float32
        )
    return _finish(_ops.full(shape, fill_value, dtype, device=device), requires_grad)


def zeros(*shape: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    return full(_shape(shape), 0, dtype=dtype or _core.float32, device=device, requires_grad=requires_grad)


def ones(*shape: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    return full(_shape(shape), 1, dtype=dtype or _core.float32, device=device, requires_grad=requires_grad)


def empty_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def full_like(x: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    return full_like(x, 1, dtype=dtype, device=device)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... up to but without stop. Integers give int64, else float32."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step may not be zero")
    count = max(0, math.ceil((stop - start) / step))
    if dtype is None:
        dtype = _core.int64 if all(isinstance(v, int) for v in (start, stop, step)) else _core.float32
    return _finish(_ops.arange(start, step, count, dtype, device=device), requires_grad)


def rand(
    *shape: Any,
    dtype: Any = None,
    device: Any = None,
    generator: _random.Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform in [0, 1)."""
    dtype = dtype or _core.float32
    return _finish(_random.draw(_ops.uniform, _shape(shape), dtype, _core.device(device), generator), requires_grad)


def randn(
    *shape: Any,
    dtype: Any = None,
    device: Any = None,
    generator: _random.Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal."""
    dtype = dtype or _core.float32
    return _finish(_random.draw(_ops.normal, _shape(shape), dtype, _core.device(device), generator), requires_grad)


def rand_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    return rand(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def randn_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    return randn(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def randint(
    low: int,
    high: int,
    shape: _Shape,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: _random.Generator | None = None,
) -> Tensor:
    """Integers from low to high - 1, each as likely as the others; int64 where no dtype is given."""
    return _random.draw_wide(
        _ops.randint, _sizes(shape), (low, high), dtype or _core.int64, _core.device(device), generator
    )


def bernoulli(
    p: float,
    shape: _Shape,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: _random.Generator | None = None,
) -> Tensor:
    """1 with probability p and 0 otherwise; float32 where no dtype is given."""
    return _random.draw_wide(
        _ops.bernoulli, _sizes(shape), (p,), dtype or _core.float32, _core.device(device), generator
    )


def randperm(n: int, *, dtype: Any = None, device: Any = None, generator: _random.Generator | None = None) -> Tensor:
    """The integers 0 .. n - 1 in random order; the same order for the same seed on every device."""
    device = _core.device(device)
    generator = generator or _random.default_generator(device)
    return _ops.randperm(n, dtype or _core.int64, generator.seed, generator.take(n, 8), device=device)


def uniform(
    low: float,
    high: float,
    shape: _Shape,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: _random.Generator | None = None,
) -> Tensor:
    """Uniform in [low, high)."""
    return rand(_sizes(shape), dtype=dtype, device=device, generator=generator) * (high - low) + low


def normal(
    mean: float,
    std: float,
    shape: _Shape,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: _random.Generator | None = None,
) -> Tensor:
    """Normal with this mean and standard deviation."""
    return randn(_sizes(shape), dtype=dtype, device=device, generator=generator) * std + mean


def linspace(start: float, stop: float, num: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """`num` evenly spaced values, the first one start and the last one stop."""
    return _ops.linspace(start, stop, num, dtype or _core.float32, device=device)


def eye(rows: int, columns: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    """1 on diagonal k, 0 elsewhere."""
    return _ops.eye(rows, rows if columns is None else columns, k, dtype or _core.float32, device=device)


def _sizes(shape: _Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)
