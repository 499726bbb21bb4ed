"""Runs a user's script before and after a migration in place, and compares every update.

The script is executed, with the rights of whoever asks for it: nothing here is called unless a user
demands just that.
"""
