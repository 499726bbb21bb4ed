"""What changed between releases of the frameworks, as observed in each of them."""
