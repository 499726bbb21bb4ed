"""The Plan: a training step as operations, its order, loss scale and schedule."""
