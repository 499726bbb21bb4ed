import ast


class CfgNode(dict):
    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__

    def merge_from_list(self, given):
        for path, text in zip(given[::2], given[1::2], strict=True):
            *above, name = path.split(".")
            node = self
            for part in above:
                node = node[part]
            old = node[name]
            node[name] = text if isinstance(old, str) else type(old)(ast.literal_eval(text))

    def freeze(self):
        pass
