"""Prints what the program logs."""


class Verbosity:
    VERBOSE = 1


def StdOutBackend(verbosity):
    return verbosity


def JSONStreamBackend(verbosity, path):
    return path


def init(backends):
    """Do nothing."""


def metadata(name, what):
    """Do nothing."""


def log(step, data):
    print(step, data)


def flush():
    """Do nothing."""
