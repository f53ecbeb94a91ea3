"""What `kubectl get pods,nodes -A -o json` prints: a cluster as it is, its pods where they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.workloads.csv_files import contents
from binwright.workloads.traces.check import LABELS

HOST = "host"
"""The label of every server that is the name of its node: pods that are there ask for it."""
NAMES = {"cpu": ("cpu", 1.0), "memory": ("mem", 1e-9), "nvidia.com/gpu": ("gpu", 1.0), "pods": ("pods", 1.0)}
"""What Kubernetes calls a resource; what it is called here, and our units of a 1 there."""
KEEPS_OFF = ("NoSchedule", "NoExecute")
CORDON = "node.kubernetes.io/unschedulable"
ENDED = ("Succeeded", "Failed")
GET = "Give what `kubectl get pods,nodes -A -o json` prints."
_SUFFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_SUFFIXES |= {f"{prefix}i": 1024.0**power for power, prefix in enumerate("KMGTPE", 1)}


class Node(NamedTuple):
    """Describes a server: what can be allocated on it, in units, its labels, and its taints."""

    name: str
    amounts: dict[str, float]
    labels: dict[str, str]
    taints: Sequence[str]


def pods(path: Path) -> pl.DataFrame:
    """Read the pods of a cluster: those on a node arrive at 0 and stay there, those that wait come a second later.

    A pod asks for what its containers request together, or for the largest of its init containers if that is more, and
    for one of `pods`. Those that have ended, or are being deleted, are left out.
    """
    with _snapshot(path) as snapshot:
        nodes = {node.name: node for node in map(_node, snapshot("Node"))}
        rows = [row for item in snapshot("Pod") if (row := _pod(item, nodes))]
    has_gpus = any(row["gpu"] for row in rows) or any(node.amounts.get("gpu") for node in nodes.values())
    names = ["cpu", "mem", "pods"] + ["gpu"] * has_gpus
    texts = ["group", "where", "tolerates", f"{LABELS}tenant", f"{LABELS}priority"]
    columns = {"id": pl.String, **dict.fromkeys(("arrival", "lifetime", *names), pl.Float64)}
    frame = pl.DataFrame(rows, schema={**columns, **dict.fromkeys(texts, pl.String)}, orient="row")
    return frame.sort("arrival", maintain_order=True)


def read_nodes(path: Path) -> list[Node]:
    """Read the servers of a snapshot; each has its name as the label `host`, and all the labels that pods ask for."""
    with _snapshot(path) as snapshot:
        wanted = sorted({label for pod in snapshot("Pod") for label in _selected(pod["spec"])})
        return [
            node._replace(labels={HOST: node.name} | {label: node.labels.get(label, "") for label in wanted})
            for node in map(_node, snapshot("Node"))
        ]


def quantity(text: str | float) -> float:
    """Read an amount as Kubernetes writes it: 500m, 2, 1.5Gi, 128974848, 1e3. Raises `ValueError`."""
    text = str(text).strip()
    digits = text.rstrip("numkKMGTPEi")
    suffix = text[len(digits) :]
    if suffix not in _SUFFIXES or not digits:
        raise ValueError(text)
    return float(digits) * _SUFFIXES[suffix]


@contextmanager
def _snapshot(path: Path) -> Iterator[Callable[[str], Iterator[dict[str, Any]]]]:
    """Yield what gives the items of a kind; within, what is not as Kubernetes has it is refused."""
    at = ""

    def of_kind(kind: str) -> Iterator[dict[str, Any]]:
        nonlocal at
        for number, item in enumerate(items):
            at = f"items.{number} is "
            if item.get("kind") == kind:
                yield item

    try:
        items = json.loads(contents(path))["items"]
        yield of_kind
    except WorkloadError as error:
        error.file = path
        raise
    except (ValueError, RecursionError, LookupError, AttributeError, TypeError) as error:
        line, why = getattr(error, "lineno", None), f"{error} is missing" if isinstance(error, KeyError) else error
        raise WorkloadError(f"{at}not as Kubernetes has it: {why}", file=path, line=line, remedy=GET) from None


def _node(item: Mapping[str, Any]) -> Node:
    about, spec, status = item["metadata"], item.get("spec", {}), item["status"]
    has = status.get("allocatable") or status.get("capacity") or {}
    taints = [
        f"{each['key']}={each['value']}" if each.get("value") else str(each["key"])
        for each in spec.get("taints", ())
        if each.get("effect") in KEEPS_OFF
    ]
    if spec.get("unschedulable") and CORDON not in taints:
        taints.append(CORDON)
    name, labels = str(about["name"]), {label: str(value) for label, value in about.get("labels", {}).items()}
    return Node(name, _amounts(has, f"node {name}"), labels, taints)


def _pod(item: Mapping[str, Any], nodes: Mapping[str, Node]) -> dict[str, Any] | None:
    about, spec = item["metadata"], item["spec"]
    if item.get("status", {}).get("phase") in ENDED or about.get("deletionTimestamp"):
        return None
    tenant, host = str(about.get("namespace", "default")), str(spec.get("nodeName", ""))
    name = f"{tenant}/{about['name']}"
    if host and host not in nodes:
        remedy = "Get pods and nodes together: kubectl get pods,nodes -A -o json."
        raise WorkloadError(f"pod {name} is on a node that is not there", value=host, remedy=remedy)
    where = {HOST: host} if host else _selected(spec)
    everywhere = {each for node in nodes.values() for each in node.taints}
    tolerated = nodes[host].taints if host else [each for each in everywhere if _tolerates(spec, each)]
    owners = about.get("ownerReferences", ())
    return {
        "id": name,
        "arrival": 0.0 if host else 1.0,
        "lifetime": float("inf"),
        **dict.fromkeys(("cpu", "mem", "gpu"), 0.0),
        **_requested(spec, name),
        "pods": 1.0,
        "group": f"{tenant}/{owners[0].get('name', '')}" if owners else "",
        "where": ";".join(f"{label}={value}" for label, value in where.items()),
        "tolerates": "|".join(sorted(set(tolerated))),
        f"{LABELS}tenant": tenant,
        f"{LABELS}priority": str(spec.get("priorityClassName") or spec.get("priority") or ""),
    }


def _requested(spec: Mapping[str, Any], name: str) -> dict[str, float]:
    """Add up what the containers of a pod request."""
    total = _amounts(spec.get("overhead", {}), f"pod {name}")
    for key, joined in (("containers", add), ("initContainers", max)):
        for container in spec.get(key, ()):
            resources = container.get("resources", {})
            amounts = _amounts({**resources.get("limits", {}), **resources.get("requests", {})}, f"pod {name}")
            total |= {resource: joined(total.get(resource, 0.0), amount) for resource, amount in amounts.items()}
    return total


def _amounts(written: Mapping[str, Any], whose: str) -> dict[str, float]:
    result = {}
    for kind, (name, units) in NAMES.items():
        try:
            if kind in written:
                result[name] = quantity(written[kind]) * units
        except (ValueError, OverflowError):
            remedy = "Give a quantity of Kubernetes: 500m, 2, 1.5Gi."
            raise WorkloadError(f"{whose}: not a quantity", key=kind, value=written[kind], remedy=remedy) from None
    return result


def _selected(spec: Mapping[str, Any]) -> dict[str, str]:
    """Read the labels that a pod asks for: its node selector, and one required term of affinity with `In`."""
    result = {label: str(value) for label, value in (spec.get("nodeSelector") or {}).items()}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms", ())
    for each in terms[0].get("matchExpressions", ()) if len(terms) == 1 else ():
        if each.get("operator") == "In":
            result[each["key"]] = "|".join(map(str, each.get("values", ())))
    return result


def _tolerates(spec: Mapping[str, Any], taint: str) -> bool:
    key, _, value = taint.partition("=")
    return any(
        each.get("effect", "") in ("", *KEEPS_OFF)
        and each.get("key", key) == key
        and (each.get("operator") == "Exists" or each.get("value", "") == value)
        for each in spec.get("tolerations", ())
    )
