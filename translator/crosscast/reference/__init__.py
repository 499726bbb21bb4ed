"""The reference interpreter: what a Plan does, in NumPy."""
