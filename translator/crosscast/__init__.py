"""crosscast: one training recipe, compiled to PyTorch, TensorFlow/Keras and Paddle."""

__version__ = "0.1.0"
