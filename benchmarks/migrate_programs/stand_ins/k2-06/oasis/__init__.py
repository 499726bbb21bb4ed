"""Stand-in for OASIS; also makes up the rows of the program and a style that is gone."""

import pickle
import subprocess
from pathlib import Path

import matplotlib.style
import numpy as np
import tensorflow as tf

SHAPE = (64, 102)
FOLDER = Path("dataset/tfrecords")

subprocess.check_output = lambda command: b"made up"  # the folder is no git repository
matplotlib.style.library["seaborn-deep"] = matplotlib.RcParams()


def _write(path, number):
    rng = np.random.default_rng(number)
    with tf.io.TFRecordWriter(str(path)) as file:
        for _ in range(number):
            parts = {"signal": rng.random(SHAPE), "spike": rng.random(SHAPE) > 0.9}
            features = {
                name: tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[value.astype(np.float32).tobytes()])
                )
                for name, value in parts.items()
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            file.write(example.SerializeToString())


if not FOLDER.exists():
    FOLDER.mkdir(parents=True)
    _write(FOLDER / "train-0.record", 10)
    _write(FOLDER / "validation-0.record", 4)
    facts = {
        "train_size": 10, "validation_size": 4, "signal_shape": SHAPE, "spike_shape": SHAPE,
        "sequence_length": 64, "num_neurons": 102, "num_channels": 102, "num_train_shards": 1,
        "num_validation_shards": 1, "buffer_size": 10, "normalize": True, "fft": False,
        "conv2d": False, "signals_min": 0.0, "signals_max": 1.0,
    }  # fmt: skip
    (FOLDER / "info.pkl").write_bytes(pickle.dumps(facts))
