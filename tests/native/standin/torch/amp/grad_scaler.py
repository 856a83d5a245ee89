"""A scaler that leaves out every step."""


class GradScaler:
    def step(self, optimizer, *args, **kwargs):
        return None
