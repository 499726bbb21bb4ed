"""One process without BytePS."""
