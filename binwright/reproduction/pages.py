"""What a reproduction came to: a page in Markdown, and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from binwright.reproduction.claims import MISSES, Row, Verdict, in_words
from binwright.reproduction.experiment import Drawing, Publication
from binwright.reproduction.measures import Runs
from binwright.simcore.errors import ResultsError, UserError
from binwright.simcore.units import many_of

K = TypeVar("K")
T = TypeVar("T")
FIGURES = "figures"
"""The folder of the figures, beside the pages."""
MANY = 50
"""Values of a table beyond which its matrix has the first metric only."""
MARKED = {Verdict.WORSE: "***{}✗***", Verdict.FARTHER: "**{}≠**", Verdict.BETTER: "*{}+*"}
"""How cells of other verdicts than `within` are written: docs/assets/site.css gives each a colour."""
OPEN, CLOSE = '<div class="verdicts" markdown>', "</div>"
"""What is between them gets colours, and filters from docs/assets/site.js."""
UNKNOWN = "Not explained."
Place = tuple[str, str]
"""An experiment and one of its conditions."""


@dataclass(frozen=True)
class Picture:
    """Holds a figure as it was drawn, with its file beside the pages, or why it was not."""

    drawing: Drawing
    file: str = ""
    content: bytes = b""
    why: str = ""

    @property
    def heading(self) -> str:
        """Name the printed figure."""
        return f"Figure{'s' if ' ' in self.drawing.figure else ''} {self.drawing.figure}"


def pictures(whole: Publication, material: Mapping[Place, Runs | UserError]) -> Iterator[Picture]:
    """Draw a publication's figures, with its names of agents; `material` has why there are no runs where that is so."""
    from binwright.analysis.figures.kind import draw, image
    from binwright.analysis.figures.style import style
    from binwright.analysis.results.combined import CombinedResults

    for drawing in whole.figures:
        options = dict(drawing.options)
        kind, places, agents = options.pop("kind"), options.pop("where"), options.get("agents", ())
        runs = []
        try:
            for place in places:
                those = material.get(tuple(place)) or ResultsError("Its runs are not there.", remedy="Run all of it.")
                if isinstance(those, UserError):
                    raise those
                if not len(those.results.done):
                    raise ResultsError("None of its runs finished.", remedy="Run all of it.")
                runs.append(those)
            with style():
                together = CombinedResults([each.named(agents) for each in runs], [each.title for each in runs])
                ending, content, _ = image(draw(together, kind, **options))
            yield Picture(drawing, f"{whole.name}-{drawing.name}.{ending}", content)
        except UserError as error:
            yield Picture(drawing, why=error.problem)


def page(whole: Publication, rows: Sequence[Row], drawn: Sequence[Picture], made: str) -> str:
    """Write the tables of a publication, a matrix for each, and its figures; `made` says how."""
    verdicts = {row.verdict for row in rows}
    signs = ", ".join(sign.format(verdict) for verdict, sign in MARKED.items() if verdict in verdicts)
    cells = f"Cells are published/ours{f': {signs}; all others are within' if signs else ''}. "
    cells += "Values are of fewer seeds, or of less time, than the whole experiment. " * any(row.quick for row in rows)
    about = f"{cells}`reproduction-{whole.name}.csv` has every value with its interval and the reason for its verdict."
    parts = [f"# {whole.title}: published and ours", f"{whole.reference}.", OPEN]
    parts += [f"**{counted(rows).capitalize()}.**", f"{about} {made}"]
    deviations: list[str] = []
    for name, table in _by(comparable(rows), lambda row: row.table).items():
        own = [row for row in table if row.metric.rpartition(", ")[0] not in {each.metric for each in table}]
        first = own if len(own) <= MANY else [row for row in own if row.metric == own[0].metric]
        new = dict.fromkeys(row.deviates for row in table if row.deviates not in ("", *deviations))
        deviations += new
        parts += [f"## {whole.heading(name)}", *new, _matrix(first)]
    reasons = _by([row for row in rows if row.verdict in MISSES], lambda row: row.explained or UNKNOWN)
    points = []
    for why, missed in sorted(reasons.items(), key=lambda item: item[0] == UNKNOWN):
        agents = ", ".join(f"{agent}: {count}" for agent, count in Counter(row.agent for row in missed).items())
        points.append(f"- {why} ({agents})")
    if points := [*points, *(f"- {line}" for line in _incomparable(rows))]:
        parts += ["## What is not reproduced, and why", "\n".join(points)]
    for heading, those in _by(drawn, lambda row: row.heading).items():
        parts.append(f"## {heading}")
        for row in those:
            parts.append(f"**{row.drawing.title}.** {row.drawing.published}".rstrip())
            parts.append(f"It is not drawn here. {row.why}" if row.why else f"![{heading}]({FIGURES}/{row.file})")
    return "\n\n".join([*parts, CLOSE]) + "\n"


def counted(rows: Iterable[Row]) -> str:
    """Count what is reproduced and the other verdicts, such as `12 of 15 reproduced; 3 worse`."""
    count = Counter(row.verdict for row in rows)
    compared = count.total() - count[Verdict.INCOMPARABLE]
    others = ", ".join(
        f"{count[verdict]} {verdict}" for verdict in Verdict if count[verdict] and verdict is not Verdict.WITHIN
    )
    reproduced = f"{compared - sum(count[verdict] for verdict in MISSES)} of {compared} reproduced"
    return f"{reproduced}; {others}" if others else reproduced


def comparable(rows: Sequence[Row]) -> list[Row]:
    """Select the rows that can be compared, in the order of metrics and conditions."""
    metrics, conditions = (list(dict.fromkeys(getattr(row, key) for row in rows)) for key in ("metric", "condition"))
    selected = [row for row in rows if row.verdict != Verdict.INCOMPARABLE]
    return sorted(selected, key=lambda row: (metrics.index(row.metric), conditions.index(row.condition)))


def _apart(rows: Sequence[Row]) -> tuple[list[str], str]:
    """Write the conditions of rows without what all have in common, and what that is."""
    parts = [in_words(row.condition, row.stand_in).split(", ") for row in rows]
    shared = set(parts[0]).intersection(*parts)
    names = [", ".join(part for part in each if part not in shared) for each in parts]
    return names, ", ".join(part for part in parts[0] if part in shared)


def _by(those: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Group what has one key, in the order of the keys."""
    groups: dict[K, list[T]] = {}
    for each in those:
        groups.setdefault(key(each), []).append(each)
    return groups


def _matrix(rows: Sequence[Row]) -> str:
    """Write the values of a table, published/ours: metrics and agents by conditions."""
    names, common = _apart(rows)
    columns = list(dict.fromkeys(names))
    decimals: Counter[str] = Counter()
    for each in rows:
        decimals[each.metric] = max(decimals[each.metric], len(each.printed.partition(".")[2]))
    cells = {}
    for each, name in zip(rows, names, strict=True):
        both = "/".join(f"{value or 0.0:,.{decimals[each.metric]}f}" for value in (each.value, each.ours))
        cells[each.metric, each.agent, name] = MARKED.get(Verdict(each.verdict), "{}").format(both)
    several = len(decimals) > 1
    corner = common or "agent" if several else ", ".join(filter(None, (rows[0].metric, common)))
    lines = [["metric"] * several + [corner, *columns], ["---"] * (several + 1 + len(columns))]
    for metric, agent in dict.fromkeys((each.metric, each.agent) for each in rows):
        lines.append([metric] * several + [agent, *(cells.get((metric, agent, column), "") for column in columns)])
    return "\n".join(f"| {' | '.join(cell.replace('|', '/').replace('_', ' ') for cell in line)} |" for line in lines)


def _incomparable(rows: Sequence[Row]) -> Iterator[str]:
    """List why values cannot be compared, and how many they are."""
    for why, those in _by([row for row in rows if row.verdict == Verdict.INCOMPARABLE], lambda row: row.why).items():
        yield f"{many_of(len(those), 'value')} cannot be compared. {why}"
