"""What torch has in C: whether gradients are wanted."""

GRAD = [True]


def is_grad_enabled():
    return GRAD[0]
