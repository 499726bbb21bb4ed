"""The reference interpreter: executes a Plan with NumPy."""
