"""Programs bound to the names and signatures of a release."""
