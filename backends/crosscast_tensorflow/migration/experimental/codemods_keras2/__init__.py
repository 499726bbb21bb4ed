"""The codemods of Keras 2, one module each."""
