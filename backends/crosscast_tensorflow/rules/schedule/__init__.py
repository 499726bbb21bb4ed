"""Rules about schedules in programs for TensorFlow and Keras."""
