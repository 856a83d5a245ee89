"""A scaler that calls the optimiser, as torch's does unless there was an overflow."""


class GradScaler:
    def step(self, optimizer, *args, **kwargs):
        return optimizer.step(*args, **kwargs)
