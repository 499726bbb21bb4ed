"""Sources as users give them: files, what belongs together, and taking them apart."""
