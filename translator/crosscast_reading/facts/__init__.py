"""What readers find in a source: facts, each with its place, its layer and how sure it is."""
