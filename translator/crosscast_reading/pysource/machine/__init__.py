"""The machine that computes expressions and functions of sources, in several domains of values."""
