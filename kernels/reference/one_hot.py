"""1 where the class is the index."""

import numpy as np


def one_hot(index, *, num_classes):
    return (np.asarray(index, np.int64)[..., None] == np.arange(num_classes)).astype(np.int64)
