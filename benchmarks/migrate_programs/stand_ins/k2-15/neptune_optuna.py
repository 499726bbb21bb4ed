"""Imported, never used."""

NeptuneCallback = None
