"""The warning that the program silences."""


class NeptuneDeprecationWarning(Warning):
    pass
