"""start + i * step."""

import numpy as np

from ._cast import convert


def arange(*, start, step, count, dtype):
    """Integers are exact; otherwise float64 arithmetic, rounded once."""
    if isinstance(start, int) and isinstance(step, int):
        return convert(start + step * np.arange(count, dtype=np.int64), dtype)
    return convert(float(start) + float(step) * np.arange(count, dtype=np.float64), dtype)
