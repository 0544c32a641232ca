"""Gates of recurrent cells."""

import numpy as np


def linear(x, weight, bias):
    product = np.matmul(x, weight.T)
    return product if bias is None else product + bias


def sigmoid(x):
    return 1 / (1 + np.exp(-x))
