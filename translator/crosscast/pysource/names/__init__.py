"""What names stand for: assignments, imports, classes, what calls return."""
