"""FGD (Weng and others 2023): fragmentation of GPU clusters."""

from __future__ import annotations

from binwright.reproduction.experiment import Publication

PUBLICATION = Publication(
    name="fgd",
    title="FGD",
    reference="Weng and others 2023, Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation "
    "Gradient Descent, USENIX ATC; the expected results of hkust-adsl/kubernetes-scheduler-simulator",
    experiments=(),
    unanswered=lambda one: "Clusters whose servers share GPUs are not simulated yet.",
)
