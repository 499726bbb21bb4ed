"""What a comparison asks for: contestants, options, stages, runs."""
