"""A stand-in for horovod.tensorflow with Keras 3: one process, made-up MNIST."""

import numpy as np
import tensorflow as tf


def init():
    pass


def size():
    return 1


def rank():
    return 0


local_rank = rank


def allreduce(tensor):
    return tensor


def broadcast_variables(*_, **__):
    pass


def DistributedGradientTape(tape):
    return tape


def _rows(path="mnist.npz"):
    images = np.random.RandomState(0).randint(0, 255, (256, 28, 28)).astype("uint8")
    labels = np.arange(256) % 10
    return (images, labels), (images[:32], labels[:32])


tf.keras.datasets.mnist.load_data = _rows
