"""The runs of a comparison: their folder, how they are made, what they left."""
