"""The recipe: sections, validation rules, and reading from YAML."""
