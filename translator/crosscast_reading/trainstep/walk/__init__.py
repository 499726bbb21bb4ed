"""The walk through a program that notes what matters to training."""
