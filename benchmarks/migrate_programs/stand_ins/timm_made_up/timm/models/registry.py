made = {}


def register_model(function):
    made[function.__name__] = function
    return function
