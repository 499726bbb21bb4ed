"""A stand-in for scikit-learn."""
