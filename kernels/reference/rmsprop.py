"""One step of RMSprop (Tieleman and Hinton, 2012), centered as by Graves (2013)."""

import numpy as np


def rmsprop(p, gradient, square_avg, gradient_avg, buffer, *, lr, alpha, epsilon, weight_decay, momentum, maximize):
    number = p.dtype.type
    g = -gradient if maximize else gradient
    if weight_decay:
        g = g + number(weight_decay) * p
    square_avg = number(alpha) * square_avg + number(1 - alpha) * g * g
    variance = square_avg
    if gradient_avg is not None:
        gradient_avg = number(alpha) * gradient_avg + number(1 - alpha) * g
        variance = square_avg - gradient_avg * gradient_avg
    direction = g / (np.sqrt(variance) + number(epsilon))
    if buffer is not None:
        direction = buffer = number(momentum) * buffer + direction
    return p - number(lr) * direction, square_avg, gradient_avg, buffer
