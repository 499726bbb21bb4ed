"""Made-up timm: small layers, one block for a transformer of any depth, little of the rest."""

__version__ = "0.3.2"
