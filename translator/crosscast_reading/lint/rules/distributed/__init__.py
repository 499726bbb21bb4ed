"""Rules about several processes and devices."""
