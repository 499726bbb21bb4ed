"""What a program consists of, and the questions that it answers."""
