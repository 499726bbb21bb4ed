"""Report as JSON what TensorFlow can do on this machine. Run as a program, never imported."""

from __future__ import annotations

import json
import os


def main() -> None:
    """Try one mixed-precision training step per type on the best device."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    names = [tf.config.experimental.get_device_details(g).get("device_name", "GPU") for g in gpus]
    native = {}
    for name in ("float32", "bfloat16", "float16"):
        policy = name if name == "float32" else f"mixed_{name}"
        try:
            layer = keras.layers.Dense(4, dtype=policy)
            with tf.GradientTape() as tape:
                output = layer(tf.ones((4, 4)))
                loss = tf.reduce_sum(tf.cast(output, "float32"))
            tape.gradient(loss, layer.trainable_variables)
            native[name] = output.dtype.name == name
        except (tf.errors.OpError, ValueError, TypeError):
            native[name] = False
    note = f"Keras {keras.__version__}" + ("" if gpus else "; half types on CPU are real and slow")
    build = {"version": tf.__version__, "devices": names or ["cpu"]}
    print(json.dumps(build | {"native": native, "note": note}))


if __name__ == "__main__":
    main()
