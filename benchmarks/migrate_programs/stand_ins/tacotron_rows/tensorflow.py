"""Made-up TensorFlow 1: settings by name, `parse`d from NAME=VALUE, and no log."""

import types

import absent


class HParams(types.SimpleNamespace):
    def parse(self, text):
        for name, _, value in (part.partition("=") for part in text.split(",")):
            old = getattr(self, name)
            setattr(self, name, value == "True" if isinstance(old, bool) else type(old)(value))


contrib = types.SimpleNamespace(training=types.SimpleNamespace(HParams=HParams))
logging, compat = absent.Nothing(), absent.Nothing()
