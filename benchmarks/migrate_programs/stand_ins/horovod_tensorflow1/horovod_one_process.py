"""What stand-ins for horovod.tensorflow share: one process."""

import tensorflow.compat.v1 as tf

Average, Sum, Adasum = "average", "sum", "adasum"


class Compression:
    none = fp16 = None


def init(*_, **__):
    pass


def size():
    return 1


local_size = size


def rank():
    return 0


local_rank = rank


def allreduce(tensor, *_, **__):
    return tensor


allgather = allreduce


def broadcast(tensor, *_, **__):
    return tensor


def broadcast_global_variables(_):
    return tf.no_op()


def broadcast_variables(*_, **__):
    return tf.no_op()


def DistributedOptimizer(optimizer, *_, **__):
    return optimizer


class BroadcastGlobalVariablesHook(tf.train.SessionRunHook):
    def __init__(self, *_, **__):
        pass
