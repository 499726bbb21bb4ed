"""Rules about loss scaling."""
