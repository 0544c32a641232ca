"""The methods of Tensor that are not hot: added to the type that the core defines."""

from __future__ import annotations

import copyreg
from typing import Any

from . import _autograd, _core, _creation, _functions, _numpy, _rearrange
from ._core import Tensor

_ops = _core.ops

# Ops that are methods under their own name.
METHODS = """
add sub mul div pow maximum minimum eq ne lt le gt ge logical_and logical_or logical_not neg abs sign exp log sqrt
rsqrt tanh erf sigmoid relu gelu sum mean max min argmax var matmul softmax log_softmax gather scatter masked_fill
where
exp2 expm1 log2 log10 log1p reciprocal square sin cos tan asin acos atan sinh cosh asinh acosh atanh erfc floor ceil
round trunc isnan isinf isfinite bitwise_not
floor_divide remainder fmod atan2 hypot copysign logaddexp logical_xor bitwise_and bitwise_or bitwise_xor left_shift
right_shift clamp lerp addcmul addcdiv
prod any all count_nonzero logsumexp norm argmin cumsum cumprod sort scatter_reduce
""".split()
# Ops that have a form which writes to the tensor itself, named with a trailing underscore.
IN_PLACE = """
add sub mul div pow maximum minimum neg abs exp log sqrt rsqrt tanh sigmoid relu masked_fill scatter
exp2 expm1 log2 log10 log1p reciprocal square sin cos tan asin acos atan sinh cosh asinh acosh atanh erf erfc floor ceil
round trunc bitwise_not
floor_divide remainder fmod atan2 hypot copysign bitwise_and bitwise_or bitwise_xor left_shift right_shift clamp lerp
addcmul addcdiv scatter_reduce tril triu
""".split()
# Functions of other themes that are methods as well, and those that have a form with a trailing underscore.
REARRANGING = """
argsort diagonal flip index_add index_put index_select masked_select nonzero roll tile topk tril triu unfold
""".split()
REARRANGING_IN_PLACE = "index_add index_put".split()


def method(function: Any) -> Any:
    setattr(Tensor, function.__name__, function)
    return function


def _in_place(name: str, module: Any = _ops) -> Any:
    op = getattr(module, name)

    def function(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return op(self, *args, out=self, **kwargs)

    function.__name__ = name + "_"
    function.__doc__ = f"{name}, written to the tensor itself."
    return function


def install() -> None:
    for name in METHODS:
        setattr(Tensor, name, getattr(_ops, name))
    for name in IN_PLACE:
        method(_in_place(name))
    for name in REARRANGING:
        setattr(Tensor, name, getattr(_rearrange, name))
    for name in REARRANGING_IN_PLACE:
        method(_in_place(name, _rearrange))
    Tensor.where = lambda self, condition, other: _ops.where(condition, self, other)
    Tensor.data = property(Tensor.detach, _core._set_data, doc="The same memory without a history.")
    Tensor.grad_fn = property(_core._grad_fn, doc="The name of the call that made the tensor, or None.")
    Tensor.__array_ufunc__ = None  # NumPy leaves array + tensor to us
    Tensor.__array_priority__ = 1000


@method
def numpy(self: Tensor) -> Any:
    """A NumPy array: over the same memory where the host can see it, else a copy."""
    if self.requires_grad:
        raise _core.InvalidArgumentError("a tensor that needs a gradient has no NumPy array; take x.detach().numpy()")
    return _numpy.to_numpy(self)


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    import numpy as np

    return np.array(self.numpy(), dtype=dtype, copy=copy)


@method
def tolist(self: Tensor) -> Any:
    """Nested lists of Python numbers, or one number for a tensor without axes."""
    return self.detach().numpy().tolist()


@method
def to(
    self: Tensor, *args: Any, device: Any = None, dtype: Any = None, copy: bool = False, non_blocking: bool = False
) -> Tensor:
    """The values on a device, in a dtype, or both: ``x.to("acme:0")``, ``x.to(dougong.float16)``, ``x.to(other)``.

    With `non_blocking`, a copy from pinned memory may go on after the return: do not write to ``x`` before the device's
    stream has come there.
    """
    for arg in args:
        if isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, _core.dtype):
            dtype = arg
        else:
            device = arg
    result = self if dtype is None or self.dtype == dtype else _ops.cast(self, dtype)
    result = result if device is None else _core._to_device(result, device, non_blocking)
    return result.clone() if copy and result is self else result


@method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The values in host memory that the device, by default the default one, copies from by itself.

    It is an ordinary tensor on ``cpu:0``; where the plugin has no such memory, it is this one, without its history.
    """
    return _core._pin(self, device)


@method
def is_pinned(self: Tensor) -> bool:
    """Whether :meth:`pin_memory` made the memory."""
    return _core._is_pinned(self)


@method
def cpu(self: Tensor) -> Tensor:
    return self.to(device="cpu:0")


@method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    return self.to(dtype=other.dtype)


def _cast_method(name: str, dtype: Any) -> None:
    def cast(self: Tensor) -> Tensor:
        return self.to(dtype=dtype)

    cast.__name__, cast.__doc__ = name, f"The values as {dtype!r}."
    method(cast)


for _name, _dtype in {
    "float": _core.float32,
    "double": _core.float64,
    "half": _core.float16,
    "bfloat16": _core.bfloat16,
    "int": _core.int32,
    "long": _core.int64,
    "bool": _core.bool_,
}.items():
    _cast_method(_name, _dtype)


@method
def backward(
    self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False
) -> None:
    """Brings gradients to all leaves that the tensor came from; see :func:`dougong.autograd.backward`."""
    _autograd.backward(self, gradient, retain_graph, create_graph)


@method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    self.requires_grad = requires_grad
    return self


@method
def detach_(self: Tensor) -> Tensor:
    raise _core.UnsupportedError("detach_ would change a tensor that others may hold; use detach()")


@method
def retain_grad(self: Tensor) -> None:
    """Keeps ``grad`` of a tensor that is no leaf, too."""
    _core._retain_grad(self)


@method
def register_hook(self: Tensor, hook: Any) -> _autograd.TensorHook:
    """Calls ``hook(gradient)`` on the way back; what it returns, if anything, takes the gradient's place.

    ``remove()`` of what is returned takes the hook away again.
    """
    handle = _autograd.TensorHook(hook)
    _core._register_hook(self, handle)
    return handle


@method
def copy_(self: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    """Writes the source's values, from any device and dtype, broadcast to this shape.

    With `non_blocking`, a copy between pinned memory and a device, of one dtype and shape and both dense, may go on
    after the return: what is in pinned memory may be looked at, or written, once the stream has come there.
    """
    _core._copy_into(self, source if isinstance(source, Tensor) else _creation.tensor(source), non_blocking)
    return self


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    self[...] = value
    return self


@method
def zero_(self: Tensor) -> Tensor:
    return self.fill_(0)


@method
def stride(self: Tensor, axis: int | None = None) -> Any:
    return self.strides if axis is None else self.strides[axis]


@method
def storage_offset(self: Tensor) -> int:
    """Elements from the first byte of the storage to the first element."""
    return _core._storage_info(self)["byte_offset"] // self.itemsize


@method
def data_ptr(self: Tensor) -> int:
    """Handle plus offset: an address, on devices whose handles are addresses."""
    return _core._data_ptr(self)


@method
def dim(self: Tensor) -> int:
    return self.ndim


@method
def element_size(self: Tensor) -> int:
    return self.itemsize


@method
def is_floating_point(self: Tensor) -> bool:
    return self.dtype.is_floating_point


@method
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from start to end as one."""
    if self.ndim == 0:
        return self.reshape(1)
    start, end = start_dim % self.ndim, end_dim % self.ndim
    return self.reshape(*self.shape[:start], -1, *self.shape[end + 1 :])


@method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    return self.view(other.shape)


@method
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    return self.expand(other.shape)


for _function in (_functions.std, _functions.split, _functions.chunk, _functions.narrow):
    method(_function)


@method
def square(self: Tensor) -> Tensor:
    return self * self


@method
def __iter__(self: Tensor) -> Any:
    return (self[i] for i in range(len(self)))


@method
def __contains__(self: Tensor, value: Any) -> bool:
    return bool((self == value).to(_core.int64).sum() > 0)


@method
def __repr__(self: Tensor) -> str:
    import numpy as np

    values = np.array2string(self.detach().cpu().numpy(), separator=", ", prefix="tensor(")
    notes = (
        [] if self.dtype in (_core.float32, _core.int64, _core.bool_) and self.numel() else [f"dtype={self.dtype!r}"]
    )
    notes += [] if str(self.device) == "cpu:0" else [f"device='{self.device}'"]
    notes += [f"grad_fn=<{self.grad_fn}>"] if self.grad_fn else ["requires_grad=True"] if self.requires_grad else []
    return f"tensor({', '.join([values, *notes])})"


@method
def __format__(self: Tensor, spec: str) -> str:
    return (
        format(self.item(), spec)
        if self.ndim == 0 and spec
        else object.__format__(repr(self), spec)
        if spec
        else repr(self)
    )


def _rebuild(cls: type, array: Any, device: str, requires_grad: bool, state: dict[str, Any] | None) -> Tensor:
    result = _numpy.from_array(array, device)
    if cls is not Tensor:
        result = cls.__new__(cls, result)
        result.__dict__.update(state or {})
    result.requires_grad = requires_grad
    return result


@method
def __reduce_ex__(self: Tensor, protocol: int) -> Any:
    """Values, dtype, device and requires_grad; a view carries its own elements only. Loading needs the plugin."""
    array = self.detach().contiguous().cpu().numpy()
    return _rebuild, (type(self), array, str(self.device), self.requires_grad, getattr(self, "__dict__", None))


@method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise _core.InvalidArgumentError("only a leaf can be deep-copied; detach() or clone() the tensor")
    copy = self.detach().clone()
    if type(self) is not Tensor:
        copy = type(self).__new__(type(self), copy)
        copy.__dict__.update(self.__dict__)
    copy.requires_grad = self.requires_grad
    memo[id(self)] = copy
    return copy


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return _core._dlpack_device(self)


@method
def __dlpack__(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """A capsule over the tensor's memory. ``stream`` is the consumer's, as an address: it waits for the work queued so
    far. None is the device's default stream, -1 asks for no ordering at all."""
    tensor = self.clone() if copy else self
    if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
        if tuple(dl_device) != (1, 0) or copy is False:
            raise BufferError(f"the tensor is on DLPack device {self.__dlpack_device__()}, not on {tuple(dl_device)}")
        tensor = self.cpu()
    if stream is None:
        tensor.device.synchronize()
    elif stream != -1:
        _core._order_for_consumer(tensor, stream)
    return _core._to_capsule(tensor, max_version is not None and tuple(max_version) >= (1, 0))


@method
def __array_namespace__(self: Tensor, *, api_version: str | None = None) -> Any:
    import dougong

    return dougong


def _op(name: str) -> Any:
    return getattr(_ops, name)


copyreg.pickle(type(_ops.add), lambda op: (_op, (op.__name__,)))  # an op is pickled, and copied, as its name
install()
