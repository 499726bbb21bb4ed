"""TensorFlow and Keras of all generations."""
