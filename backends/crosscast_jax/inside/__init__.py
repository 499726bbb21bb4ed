"""What the harness loads in the process of JAX."""
