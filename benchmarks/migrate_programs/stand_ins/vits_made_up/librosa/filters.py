import numpy


def mel(sr, n_fft, n_mels, fmin=0.0, fmax=None):
    bands = numpy.arange(n_fft // 2 + 1) * n_mels // (n_fft // 2 + 1)
    return (bands == numpy.arange(n_mels)[:, None]).astype("float32")
