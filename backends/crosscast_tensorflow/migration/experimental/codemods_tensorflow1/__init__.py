"""The codemods of TensorFlow 1, one module each."""
