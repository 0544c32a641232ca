"""1.0507 times x where it is positive, else 1.0507 * 1.6733 * (exp(x) - 1): Klambauer and others 2017."""

import numpy as np

SCALE, ALPHA = 1.0507009873554804934, 1.6732632423543772848


def selu(x):
    with np.errstate(all="ignore"):
        number = x.dtype.type
        return np.where(x > 0, x * number(SCALE), number(SCALE * ALPHA) * np.expm1(x))
