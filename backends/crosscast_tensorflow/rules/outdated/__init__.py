"""Rules about outdated in programs for TensorFlow and Keras."""
