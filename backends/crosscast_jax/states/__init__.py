"""Training states that JAX programs saved: files of Flax, folders of Orbax."""
