"""Migrations that few programs came out right of: `--experimental` applies them."""
