"""Third-party trainers: adapters that let them take part, and the conformance table about them."""
