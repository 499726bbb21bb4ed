"""Models of sources: read into a neutral list of layers, written in another framework."""
