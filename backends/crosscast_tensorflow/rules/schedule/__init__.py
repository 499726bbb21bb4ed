"""Rules about schedule in programs for TensorFlow and Keras."""
