"""Rules about programs for third-party trainers, one module each, in folders by topic."""
