"""The module that plots results is not among the program's files."""


def PlotResult(*parts, **settings):
    pass
