"""The rules: one module each, every one with a constant `RULE`."""
