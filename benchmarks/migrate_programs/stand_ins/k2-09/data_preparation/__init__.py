"""Not among the files of the program."""
