"""One step of stochastic gradient descent."""


def sgd(parameter, gradient, buffer, *, lr, momentum, dampening, weight_decay, nesterov, maximize, first_step):
    number = parameter.dtype.type
    g = -gradient if maximize else gradient
    if weight_decay:
        g = g + number(weight_decay) * parameter
    if buffer is not None and momentum != 0:
        buffer = g if first_step else number(momentum) * buffer + number(1 - dampening) * g
        g = g + number(momentum) * buffer if nesterov else buffer
    return parameter - number(lr) * g, buffer
