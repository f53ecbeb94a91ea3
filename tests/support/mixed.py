"""A scenario whose servers have different devices, or none."""

from typing import Any

MIXED: dict[str, Any] = {
    "cluster": {
        "groups": [
            {"count": 2, "node": {"cpu": 8, "mem": "32 GB"}, "devices": {"model": "V100", "count": 4}},
            {"count": 1, "node": {"cpu": 16, "mem": "32 GB"}, "devices": {"count": 2}},
            {"count": 1, "node": {"cpu": 4, "mem": "8 GB"}},
        ]
    },
    "workload": {
        "requests": 60,
        "arrivals": {"fixed": {"every": "1 s"}},
        "flavours": [{"cpu": 1, "gpu": 0.6, "weight": 3}, {"cpu": 2, "gpu": 2}, {"cpu": 1, "mem": "2 GB"}],
        "lifetimes": {"fixed": "12 s"},
    },
    "agents": ["fgd", "gpu-clustering", "first-fit", "gpu-random"],
}
