"""What is loaded in the process of the framework; a copy of it is all that process may have."""
