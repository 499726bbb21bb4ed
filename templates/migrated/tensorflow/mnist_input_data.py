"""The MNIST reader of TensorFlow's tutorials, which TensorFlow lacks since 2.0."""

import gzip
import os
import typing
import urllib.request

import numpy as np
import tensorflow.compat.v1 as tf

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_FILES = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}


class Datasets(typing.NamedTuple):
    """The three parts of the data."""

    train: object
    validation: object
    test: object


class DataSet:
    """Images and labels, handed out in batches."""

    def __init__(
        self,
        images,
        labels,
        fake_data=False,
        one_hot=False,
        dtype=tf.float32,
        reshape=True,
        seed=None,
    ):
        np.random.seed(tf.get_default_graph().seed if seed is None else seed)
        self.one_hot = one_hot
        self.num_examples = 10000 if fake_data else len(images)
        if not fake_data and reshape:
            images = images.reshape(len(images), -1)
        if not fake_data and tf.as_dtype(dtype) == tf.float32:
            images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self.images, self.labels = images, labels
        self.epochs_completed = 0
        self._position = 0

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """Return the next images and labels; the next epoch begins within a batch."""
        if fake_data:
            label = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._position
        if shuffle and start == 0 and self.epochs_completed == 0:
            self._shuffle()
        if start + batch_size <= self.num_examples:
            self._position += batch_size
            return self.images[start : self._position], self.labels[start : self._position]
        images, labels = self.images[start:], self.labels[start:]
        self.epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._position = batch_size - len(images)
        return (
            np.concatenate((images, self.images[: self._position])),
            np.concatenate((labels, self.labels[: self._position])),
        )

    def _shuffle(self):
        order = np.arange(self.num_examples)
        np.random.shuffle(order)
        self.images, self.labels = self.images[order], self.labels[order]


def read_data_sets(
    train_dir,
    fake_data=False,
    one_hot=False,
    dtype=tf.float32,
    reshape=True,
    validation_size=5000,
    seed=None,
    source_url=DEFAULT_SOURCE_URL,
):
    """Read the four files of MNIST; those that a folder lacks are downloaded."""
    if fake_data:
        return Datasets(*(DataSet([], [], True, one_hot, dtype, seed=seed) for _ in range(3)))
    url = source_url or DEFAULT_SOURCE_URL
    images, labels = (_read(train_dir, file, url) for file in _FILES["train"])
    test_images, test_labels = (_read(train_dir, file, url) for file in _FILES["test"])
    if not 0 <= validation_size <= len(images):
        raise ValueError(f"validation_size must be between 0 and {len(images)}.")
    if one_hot:
        labels, test_labels = np.eye(10)[labels], np.eye(10)[test_labels]
    parts = [
        (images[validation_size:], labels[validation_size:]),
        (images[:validation_size], labels[:validation_size]),
        (test_images, test_labels),
    ]
    return Datasets(*(DataSet(*part, dtype=dtype, reshape=reshape, seed=seed) for part in parts))


def _read(folder, name, url):
    """Return the array of a file in the IDX format; images get a last axis of one channel."""
    path = os.path.join(folder, name)
    if not tf.gfile.Exists(path):
        tf.gfile.MakeDirs(folder)
        with urllib.request.urlopen(url + name) as stream, tf.gfile.Open(path, "wb") as file:
            file.write(stream.read())
    with tf.gfile.Open(path, "rb") as file:
        data = gzip.decompress(file.read())
    axes = data[3]
    shape = tuple(np.frombuffer(data, ">u4", axes, 4).astype(int))
    found = np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)
    return found[..., np.newaxis] if axes == 3 else found
