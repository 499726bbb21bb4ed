"""What rules of several topics ask of programs for TensorFlow and Keras."""
