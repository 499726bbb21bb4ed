"""Rules about outdated in programs for third-party trainers."""
