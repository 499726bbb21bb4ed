"""Reading of programs and configurations: facts, lint and lift."""
