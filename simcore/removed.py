"""Names that 0.3 no longer has: messages about them say what to do instead. The table goes with 0.4."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def removed() -> Mapping[str, str]:
    """Return what to do instead of a key of the YAML (its path), or of a `KIND NAME`, as in `removed.yaml`."""
    import yaml  # only messages about such names need it

    table = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return {name: remedy for remedy, names in table.items() for name in names}
