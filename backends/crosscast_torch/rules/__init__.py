"""Rules about programs for PyTorch, one module each, in folders by topic."""
