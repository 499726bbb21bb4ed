"""Rules about outdated interfaces."""
