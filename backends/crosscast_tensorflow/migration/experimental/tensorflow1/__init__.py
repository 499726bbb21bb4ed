"""TensorFlow 1 to `tf.compat.v1`: tables, the names of a module, files written beside it."""
