"""From a recipe to files: lowering, templates, the compiler."""
