"""What runs leave behind, read as data that nobody has to trust."""
