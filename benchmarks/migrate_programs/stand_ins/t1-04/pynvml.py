"""A stand-in for pynvml: no GPU."""


def nvmlInit():
    pass


def nvmlDeviceGetHandleByIndex(_):
    return None


def nvmlDeviceGetCpuAffinity(_, count):
    return [2**64 - 1] * count


def nvmlDeviceGetName(_):
    return "none"
