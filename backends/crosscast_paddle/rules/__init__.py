"""Rules about programs for Paddle, one module each, in folders by topic."""
