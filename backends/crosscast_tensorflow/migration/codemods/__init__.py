"""The codemods of TensorFlow and Keras, one module each."""
