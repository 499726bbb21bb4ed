"""Rules about outdated APIs in programs for third-party trainers."""
