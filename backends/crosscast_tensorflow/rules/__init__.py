"""Rules about programs for TensorFlow and Keras, one module each, in folders by topic."""
