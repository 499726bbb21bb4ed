"""The distributions that the programs use."""

from tensorflow_probability import bijectors, distributions  # noqa: F401
