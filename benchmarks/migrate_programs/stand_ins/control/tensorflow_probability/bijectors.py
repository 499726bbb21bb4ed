"""The base class of bijectors."""


class Bijector:
    def __init__(self, forward_min_event_ndims=0, validate_args=False, name=None):
        self.name = name

    def forward(self, x):
        return self._forward(x)

    def inverse(self, y):
        return self._inverse(y)

    def forward_log_det_jacobian(self, x):
        return self._forward_log_det_jacobian(x)
