"""Edits of source texts that preserve everything else."""
