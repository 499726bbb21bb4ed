"""The spaces of gym that the programs use."""

from gym import spaces  # noqa: F401
