"""Rules about programs for JAX, one module each, in folders by topic."""
