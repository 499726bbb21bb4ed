"""What runs inside a framework's process: standard library, NumPy and safetensors only.

The folder is copied into the working folder of a run, so that it works in interpreters that have no
crosscast.
"""
