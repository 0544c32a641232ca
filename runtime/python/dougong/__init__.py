"""dougong: one device plugin for every deep-learning framework.

A device is a string: ``dougong.tensor([1.0, 2.0], device="acme:0")``. Names are PyTorch's and the array API's.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import _autograd as autograd
from . import _core, _errors, _generator, _plugins, _tensor
from ._autograd import enable_grad, no_grad
from ._core import (
    Device,
    Event,
    Stream,
    Tensor,
    as_strided,
    bfloat16,
    complex64,
    complex128,
    current_stream,
    device,
    device_count,
    device_names,
    dtype,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    load_plugin,
    ops,
    promote_types,
    set_default_device,
    set_device,
    stream,
    synchronize,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._core import bool_ as bool
from ._creation import (
    arange,
    asarray,
    bernoulli,
    empty,
    empty_like,
    eye,
    from_dlpack,
    from_numpy,
    full,
    full_like,
    linspace,
    normal,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    tensor,
    uniform,
    zeros,
    zeros_like,
)
from ._einsum import einsum
from ._errors import (
    AbortedError,
    DeviceLostError,
    DougongError,
    IncompatibleError,
    InternalError,
    InvalidArgumentError,
    NotReadyError,
    OutOfMemoryError,
    OutOfRangeError,
    TimedOutError,
    UnimplementedError,
    UnsupportedError,
)
from ._functions import (
    allclose,
    broadcast_to,
    chunk,
    equal,
    narrow,
    permute,
    permute_dims,
    reshape,
    split,
    squeeze,
    stack,
    std,
    transpose,
    unsqueeze,
)
from ._ledger import LedgerRow, fallbacks, ledger, reset_fallbacks, strict
from ._paths import get_cmake_dir, get_include
from ._random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, set_rng_state
from ._rearrange import (
    argsort,
    diagonal,
    flip,
    index_add,
    index_put,
    index_select,
    masked_select,
    nonzero,
    one_hot,
    repeat,
    roll,
    searchsorted,
    tile,
    topk,
    tril,
    triu,
    unfold,
)
from ._version import __version__
from .jit import jit

# Ops that are functions here under their own name; dougong.ops has all of them.
_PUBLIC_OPS = """
abs acos acosh add addcdiv addcmul addmm all any argmax argmin asin asinh atan atan2 atanh bitwise_and bitwise_not
bitwise_or bitwise_xor bmm cat ceil celu clamp conv2d copysign cos cosh count_nonzero cross_entropy cumprod cumsum div
elu embedding eq erf erfc exp exp2 expm1 floor floor_divide fmod gather ge gelu gelu_tanh gt hardsigmoid hardswish
hardtanh hypot isfinite isinf isnan layer_norm le leaky_relu left_shift lerp log log10 log1p log2 log_sigmoid
log_softmax logaddexp logical_and logical_not logical_or logical_xor logsumexp lt masked_fill matmul max max_pool2d
maximum mean min minimum mish mul ne neg norm pad pow prod reciprocal relu remainder right_shift round rsqrt scatter
scatter_reduce selu sigmoid sign silu sin sinh softmax softplus softsign sort sqrt square sub sum tan tanh trunc var
where
""".split()
globals().update({name: getattr(ops, name) for name in _PUBLIC_OPS})

_LAZY = ("nn", "optim", "data", "checkpoint", "profiler", "_serialization")
_LAZY_NAMES = {
    "load": "_serialization",
    "save": "_serialization",
    "load_training": "_training",
    "save_training": "_training",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_PRIVATE = ("annotations", "importlib", "Any")
__all__ = [name for name in dir() if not name.startswith("_") and name not in _PRIVATE]
__all__ += list(_LAZY_NAMES)
