def init():
    pass


def size():
    return 1


def rank():
    return 0


def allgather(tensor):
    return tensor


def allreduce_(tensor):
    return tensor


def broadcast_(tensor, root_rank):
    return tensor


local_size, local_rank = size, rank
