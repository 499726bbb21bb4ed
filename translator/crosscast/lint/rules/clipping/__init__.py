"""Rules about clipping gradients."""
