"""Rules about flags and launch commands."""
