"""Rules about accumulation in programs for TensorFlow and Keras."""
