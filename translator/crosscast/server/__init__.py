"""What editors ask: problems, explanations, completions and fixes of an open document."""
