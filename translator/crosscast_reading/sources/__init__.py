"""Source files: reading, grouping and parsing."""
