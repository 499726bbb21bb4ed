"""Rules about Keras and TensorFlow alone."""
