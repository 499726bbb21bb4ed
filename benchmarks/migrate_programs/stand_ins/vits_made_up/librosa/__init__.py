"""Made-up librosa: bands of equal width, and names of which nothing is needed."""
