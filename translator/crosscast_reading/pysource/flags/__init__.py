"""What the command line can set."""
