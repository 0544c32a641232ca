"""One step of Adagrad (Duchi, Hazan and Singer, 2011), with a learning rate that may decay."""

import numpy as np


def adagrad(p, gradient, sum, *, lr, lr_decay, weight_decay, epsilon, step, maximize):
    number = p.dtype.type
    g = -gradient if maximize else gradient
    if weight_decay:
        g = g + number(weight_decay) * p
    sum = sum + g * g
    return p - number(lr / (1 + (step - 1) * lr_decay)) * g / (np.sqrt(sum) + number(epsilon)), sum
