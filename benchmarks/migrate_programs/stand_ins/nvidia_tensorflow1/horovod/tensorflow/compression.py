"""A stand-in for horovod.tensorflow.compression."""

from horovod.tensorflow import Compression

__all__ = ["Compression"]
