"""The command line."""

from crosscast.cli.application import app, run

__all__ = ["app", "run"]
