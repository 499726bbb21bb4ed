"""What the codemods for apex share: one loop is turned as a whole, or not at all."""
