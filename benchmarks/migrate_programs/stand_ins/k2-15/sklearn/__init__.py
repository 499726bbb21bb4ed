"""The few functions that the program takes from scikit-learn."""
