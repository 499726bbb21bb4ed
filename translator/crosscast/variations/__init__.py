"""What else a recipe could say."""
