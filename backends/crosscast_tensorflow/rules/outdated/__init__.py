"""Rules about outdated APIs in programs for TensorFlow and Keras."""
