"""Rules about distributed in programs for TensorFlow and Keras."""
