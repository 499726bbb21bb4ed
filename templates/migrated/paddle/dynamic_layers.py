"""Layers, files and readers of Paddle 1 for dynamic graphs."""

import paddle


def as_tensor(value, name=None, zero_copy=None, dtype=None):
    """Return an array as a tensor, and a tensor as it is, with its gradient."""
    return value if isinstance(value, paddle.Tensor) else paddle.to_tensor(value, dtype)


def with_activation(layer, act):
    """Return a layer whose output passes through an activation, or through none."""
    if act is not None:
        function = getattr(paddle.nn.functional, act)
        layer.register_forward_post_hook(lambda layer, inputs, output: function(output))
    return layer


def pool_layer(
    pool_size=-1,
    pool_type="max",
    pool_stride=1,
    pool_padding=0,
    global_pooling=False,
    use_cudnn=True,
    ceil_mode=False,
    exclusive=True,
):
    """Return the layer that fluid.dygraph.Pool2D was with these arguments."""
    if global_pooling:
        layers = {"max": paddle.nn.AdaptiveMaxPool2D, "avg": paddle.nn.AdaptiveAvgPool2D}
        return layers[pool_type](1)
    if pool_type == "max":
        return paddle.nn.MaxPool2D(pool_size, pool_stride, pool_padding, ceil_mode=ceil_mode)
    return paddle.nn.AvgPool2D(
        pool_size, pool_stride, pool_padding, ceil_mode=ceil_mode, exclusive=exclusive
    )


def save_dygraph_state(state_dict, model_path):
    """Save the state of a layer as .pdparams, of an optimizer as .pdopt."""
    is_layer = any(isinstance(value, paddle.nn.Parameter) for value in state_dict.values())
    paddle.save(state_dict, model_path + (".pdparams" if is_layer else ".pdopt"))


def load_dygraph_state(model_path):
    """Return the states of a layer and of its optimizer; None for what was not saved."""
    import os

    path = str(model_path)
    for suffix in (".pdparams", ".pdopt"):
        path = path[: -len(suffix)] if path.endswith(suffix) else path
    files = [path + ".pdparams", path + ".pdopt"]
    if not any(os.path.exists(file) for file in files):
        raise FileNotFoundError(files[0])
    layer, optimizer = (paddle.load(file) if os.path.exists(file) else None for file in files)
    return layer, optimizer


class GeneratorLoader:
    """Tensors from generators, as fluid.io.DataLoader.from_generator gave them."""

    def __init__(
        self,
        feed_list=None,
        capacity=None,
        use_double_buffer=True,
        iterable=True,
        return_list=False,
        use_multiprocess=False,
        drop_last=True,
    ):
        self.reader = None

    def set_sample_generator(self, reader, batch_size, drop_last=True, places=None):
        return self.set_sample_list_generator(paddle.batch(reader, batch_size, drop_last))

    def set_sample_list_generator(self, reader, places=None):
        return self.set_batch_generator(lambda: (zip(*samples) for samples in reader()))

    def set_batch_generator(self, reader, places=None):
        self.reader = reader
        return self

    def __call__(self):
        return iter(self)

    def __iter__(self):
        import numpy

        for batch in self.reader():
            yield [paddle.to_tensor(numpy.array(column)) for column in batch]


def batches_of_process(batch_reader):
    """Return the reader of every n-th batch, where n is the number of processes."""

    def batches():
        rank, processes = paddle.distributed.get_rank(), paddle.distributed.get_world_size()
        together = []
        for batch in batch_reader():
            together.append(batch)
            if len(together) == processes:
                yield together[rank]
                together = []

    return batches
