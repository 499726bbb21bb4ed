"""Readers: one module per source format, registered by the entry point `crosscast.readers`."""
