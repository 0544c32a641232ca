"""Between NumPy's dtypes and ours. NumPy is imported on first use, so that ``import dougong`` stays quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core

if TYPE_CHECKING:
    import numpy as np


def to_numpy_dtype(dtype: _core.dtype) -> np.dtype:
    """The NumPy dtype of the same elements; bfloat16 and float8 come from ml_dtypes."""
    import numpy as np

    name = dtype.name
    if name == "bfloat16" or name.startswith("float8"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def from_numpy_dtype(dtype: np.dtype) -> _core.dtype:
    """Raises TypeError for a dtype that has no counterpart, and for foreign byte orders."""
    if not dtype.isnative:
        raise TypeError(
            f"NumPy dtype {dtype} has a foreign byte order; convert it with .astype({dtype.newbyteorder('=')})"
        )
    return _core._dtype_from_name(dtype.name)


def bytes_of(array: np.ndarray) -> np.ndarray:
    """A flat uint8 look at a dense array: what the core copies."""
    import numpy as np

    return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)


def to_numpy(tensor: _core.Tensor) -> np.ndarray:
    """The tensor's memory where the host can see it, without a copy; else a copy."""
    import numpy as np

    if "host_accessible" in tensor.device.properties["capabilities"]:
        tensor.device.synchronize()
        array = np.asarray(memoryview(_core._host_view(tensor)))
        wanted = to_numpy_dtype(tensor.dtype)
        return array if array.dtype == wanted else array.view(wanted)
    dense = tensor.contiguous()
    array = np.empty(dense.shape, to_numpy_dtype(dense.dtype))
    _core._copy_to_host(dense, bytes_of(array))
    return array


def from_array(array: np.ndarray, device: object) -> _core.Tensor:
    """A new tensor with the array's values; the array may be changed afterwards."""
    import numpy as np

    # ascontiguousarray would give a 0-d array an axis.
    dense = np.require(array, requirements="C")
    tensor = _core.empty(array.shape, from_numpy_dtype(array.dtype), device)
    _core._copy_from_host(tensor, bytes_of(dense))
    return tensor
