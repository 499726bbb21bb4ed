"""What Keras of TensorFlow 1 did, and Keras 3 does in another way."""

import tensorflow as tf


@tf.keras.utils.register_keras_serializable()
class RMSpropFromOnes(tf.keras.optimizers.RMSprop):
    """RMSprop whose mean squares begin at one, as those of tf.train.RMSPropOptimizer did."""

    def add_variable_from_reference(self, reference_variable, name=None, initializer="zeros"):
        initializer = "ones" if name == "velocity" else initializer
        return super().add_variable_from_reference(reference_variable, name, initializer)


@tf.keras.utils.register_keras_serializable()
def old_hard_sigmoid(x):
    """Return hard_sigmoid as it was before Keras 3, which gave it another slope."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)
