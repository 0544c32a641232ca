"""log(exp(a) + exp(b)), from the greater of the two."""

import numpy as np


def logaddexp(a, b):
    with np.errstate(all="ignore"):
        apart = np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b)))
        return np.where(a == b, a + np.log(a.dtype.type(2)), apart)
