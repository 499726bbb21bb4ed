"""Rules about its optimizer."""
