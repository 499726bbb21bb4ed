"""Migration of programs for TensorFlow and Keras to its current API."""
