"""When paddle.distributed.launch is elastic, as JSON."""

import json
from types import SimpleNamespace

from paddle.distributed.launch.controllers.collective import CollectiveElasticController

MASTERS = ("127.0.0.1:29500", "http://127.0.0.1:29500", "etcd://127.0.0.1:2379", None)


def elastic(master: str | None) -> bool:
    arguments = SimpleNamespace(master=master, run_mode="collective")
    logger = SimpleNamespace(debug=lambda text: None)
    return bool(CollectiveElasticController.enable(SimpleNamespace(args=arguments, logger=logger)))


print(json.dumps({str(master): elastic(master) for master in MASTERS}))
