"""Rules about optimizers."""
