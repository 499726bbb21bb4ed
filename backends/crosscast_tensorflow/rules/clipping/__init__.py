"""Rules about clipping in programs for TensorFlow and Keras."""
