"""Summaries that are not written."""


def scalar(name, data, step=None, description=None):
    return True


def image(name, data, step=None, max_outputs=3, description=None):
    return True


histogram = text = scalar
