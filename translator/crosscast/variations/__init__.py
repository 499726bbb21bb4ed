"""Alternative values for recipe fields."""
