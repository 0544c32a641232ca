"""What becomes of the losses of single elements."""

import numpy as np


def reduced(each, reduction):
    with np.errstate(all="ignore"):
        total = np.sum(each)
        return {"none": each, "sum": total, "mean": total / each.dtype.type(np.size(each))}[reduction]
