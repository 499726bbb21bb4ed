"""Rules about data parallelism in programs for TensorFlow and Keras."""
