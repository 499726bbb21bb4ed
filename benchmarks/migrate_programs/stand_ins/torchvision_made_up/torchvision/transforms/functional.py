"""Nothing of it is used here."""
