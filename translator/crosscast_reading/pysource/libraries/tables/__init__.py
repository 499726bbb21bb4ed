"""Signatures of libraries, one module a library; the form is described in `calls/signatures.py`."""
