"""Raises what the cluster would log."""


def invalidInputError(fine, message):
    if not fine:
        raise ValueError(message)
