"""Signatures of libraries, one module a library; the form is described in `signatures.py`."""
