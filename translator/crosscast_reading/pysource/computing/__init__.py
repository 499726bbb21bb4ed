"""Pure functions of a program computed for given arguments, without running the program."""
