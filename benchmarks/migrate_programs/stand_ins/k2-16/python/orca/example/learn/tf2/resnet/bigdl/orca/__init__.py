"""One process without a cluster."""


def init_orca_context(**_):
    """Do nothing."""


def stop_orca_context():
    """Do nothing."""
