"""A stand-in for dllogger: it prints."""


class Verbosity:
    DEFAULT = VERBOSE = 0


class _Backend:
    def __init__(self, *_, **__):
        pass


StdOutBackend = JSONStreamBackend = _Backend


class Logger(_Backend):
    def log(self, step, data, verbosity=0):
        print(step, data)

    def metadata(self, *_, **__):
        pass

    def flush(self):
        pass


_LOGGER = Logger()
log, metadata, flush = _LOGGER.log, _LOGGER.metadata, _LOGGER.flush


def init(backends=()):
    pass
