"""Not used in training."""


class SpikeTrain:
    pass
