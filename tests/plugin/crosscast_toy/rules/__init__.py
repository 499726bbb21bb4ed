"""Rules about programs for toygrad."""
