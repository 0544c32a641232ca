"""x continued beyond its ends by its own elements; negative padding cuts first."""

import numpy as np

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def border_pad(x, *, padding, mode):
    pairs = list(zip(padding[::2], padding[1::2], strict=True))
    cut = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))]
    widths = [(max(a, 0), max(b, 0)) for a, b in pairs]
    return np.pad(cut, widths, mode=MODES[mode]) if widths else cut.copy()
