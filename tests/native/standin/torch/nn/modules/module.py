"""The class that all modules have."""


class Module:
    def __init__(self, **children):
        self.training = True
        self.children = children

    def _wrapped_call_impl(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    __call__ = _wrapped_call_impl

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in self.children.items():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)
