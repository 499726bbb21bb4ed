"""What the codemods to Keras 3 share."""
