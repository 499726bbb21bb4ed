"""What rules of several topics ask of a program."""
