"""The recipe: its sections, its rules, and the way from YAML to it."""
