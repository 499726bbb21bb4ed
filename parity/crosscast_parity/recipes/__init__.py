"""Recipes made from a recipe: shorter, smaller, changed, under stress."""
