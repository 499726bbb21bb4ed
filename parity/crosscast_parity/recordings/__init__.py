"""Files that runs leave behind, read as untrusted data."""
