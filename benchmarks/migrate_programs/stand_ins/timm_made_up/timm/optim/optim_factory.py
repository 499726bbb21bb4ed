def add_weight_decay(model, weight_decay=1e-5, skip_list=()):
    given = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in given if p.ndim < 2], "weight_decay": 0.0},
        {"params": [p for p in given if p.ndim > 1], "weight_decay": weight_decay},
    ]
