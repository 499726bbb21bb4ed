"""A dictionary whose keys are attributes."""


class Munch(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
