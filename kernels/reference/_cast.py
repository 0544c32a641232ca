"""What a conversion between dtypes gives."""

import numpy as np


def convert(x, dtype):
    """x as `dtype`: float to integer truncates and saturates, NaN gives 0; integer to integer wraps; to float rounds to
    nearest even, once; anything but zero is true."""
    x, dtype = np.asarray(x), np.dtype(dtype)
    if dtype == np.bool_:
        return x != 0
    if dtype.kind in "iu" and x.dtype.kind not in "iub":
        return saturate(x.astype(np.float64), dtype)
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def saturate(x, dtype):
    info = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        truncated = np.trunc(np.where(np.isnan(x), 0, x))
        inside = (truncated >= float(info.min)) & (truncated < float(info.max) + 1)
        result = np.where(inside, truncated, 0).astype(dtype)
    return np.where(inside, result, np.where(truncated < 0, info.min, info.max).astype(dtype))
