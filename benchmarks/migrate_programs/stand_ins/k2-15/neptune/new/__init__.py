"""A run that looks whether uploaded files exist, and keeps nothing."""

from pathlib import Path


class _Field:
    def log(self, value):
        pass

    def upload(self, path):
        if not Path(path).exists():
            raise FileNotFoundError(path)


class _Run:
    def __getitem__(self, name):
        return _Field()

    def __setitem__(self, name, value):
        pass

    def stop(self):
        pass


def init_run(**settings):
    return _Run()
