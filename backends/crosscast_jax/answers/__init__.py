"""What several rules about programs for JAX ask."""
