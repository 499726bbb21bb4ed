from absent import Nothing as normalize
from absent import Nothing as pad_center
from absent import Nothing as tiny

__all__ = ["normalize", "pad_center", "tiny"]
