"""Rules about loss scaling in programs for TensorFlow and Keras."""
