import itertools

concat = itertools.chain.from_iterable


def partition_all(size, given):
    return [given[n : n + size] for n in range(0, len(given), size)]
