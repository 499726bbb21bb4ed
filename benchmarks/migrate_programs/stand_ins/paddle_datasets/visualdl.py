"""A stand-in for the package of the same name: it writes nothing."""


class LogWriter:
    def __init__(self, *_, **__):
        pass

    def __getattr__(self, name):
        return lambda *_, **__: self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False
