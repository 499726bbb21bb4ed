"""Shared code of the codemods for apex. A loop is migrated completely or not at all."""
