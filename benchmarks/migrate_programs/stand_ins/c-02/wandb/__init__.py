"""Takes what a program logs, and keeps nothing."""


class _Run:
    def __init__(self):
        self.config = self

    def update(self, *ignored, **more):
        pass

    log = update


def init(**settings):
    return _Run()


def Image(*ignored, **more):
    return None


Histogram = Image
