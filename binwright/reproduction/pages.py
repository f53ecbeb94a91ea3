"""What a reproduction came to: a page in Markdown, and its figures."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from binwright.reproduction.claims import MISSES, Row, Verdict, in_words
from binwright.reproduction.experiment import Publication
from binwright.reproduction.measures import Runs
from binwright.simcore.errors import ResultsError, UserError
from binwright.simcore.units import many_of

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

    drawing: Mapping[str, Any]
    file: str = ""
    content: bytes = b""
    why: str = ""


def pictures(whole: Publication, runs: Mapping[Place, Runs]) -> Iterator[Picture]:
    """Draw a publication's figures, with its names of agents."""
    from binwright.analysis.figures.kind import draw, image
    from binwright.analysis.figures.style import style
    from binwright.analysis.results.folder import combined

    for drawing in whole.figures:
        options = dict(drawing["options"])
        kind, places, agents = options.pop("kind"), options.pop("where"), options.get("agents", ())
        shown = [runs[place] for place in map(tuple, places) if place in runs and len(runs[place].results.done)]
        try:
            if len(shown) < len(places):
                raise ResultsError("None of its runs finished.", remedy="Run all of it.")
            with style():
                together = combined([each.named(agents) for each in shown], [each.title for each in shown])
                ending, content, _ = image(draw(together, kind, **options))
            yield Picture(drawing, f"{whole.name}-{drawing['name']}.{ending}", content)
        except UserError as error:
            yield Picture(drawing, why=error.problem)


def page(whole: Publication, rows: Sequence[Row], drawn: Sequence[Picture], made: str) -> str:
    """Write the tables of a publication, a matrix for each, and its figures; `made` says how."""
    verdicts = {row.verdict for row in rows}
    signs = ", ".join(sign.format(verdict) for verdict, sign in MARKED.items() if verdict in verdicts)
    cells = f"Cells are published/ours{f': {signs}; all others are within' if signs else ''}. "
    about = f"{cells}`reproduction-{whole.name}.csv` has every value with its interval and the reason for its verdict."
    parts = [f"# {whole.title}: published and ours", f"{whole.reference}.", OPEN]
    parts += [f"**{counted(rows).capitalize()}.**", f"{about} {made}"]
    titles = {name: title for experiment in whole.experiments for name, title in experiment.tables.items()}
    deviations: list[str] = []
    metrics, conditions = (list(dict.fromkeys(getattr(row, key) for row in rows)) for key in ("metric", "condition"))
    ordered = sorted(rows, key=lambda row: (metrics.index(row.metric), conditions.index(row.condition)))
    compared = [row for row in ordered if row.verdict != Verdict.INCOMPARABLE]
    for name, table in _by(compared, lambda row: row.table).items():
        own = [row for row in table if row.metric.rpartition(", ")[0] not in {each.metric for each in table}]
        first = own if len(own) <= MANY else [row for row in own if row.metric == own[0].metric]
        new = dict.fromkeys(row.deviates for row in table if row.deviates not in ("", *deviations))
        deviations += new
        number = f"Table {name}" if name[0].isdigit() else name.capitalize()
        parts += [f"## {number}: {titles[name][0].lower()}{titles[name][1:]}", *new, _matrix(first)]
    reasons = _by([row for row in rows if row.verdict in MISSES], lambda row: row.explained or UNKNOWN)
    points = []
    for why, missed in sorted(reasons.items(), key=lambda item: item[0] == UNKNOWN):
        agents = ", ".join(f"{agent}: {count}" for agent, count in Counter(row.agent for row in missed).items())
        points.append(f"- {why} ({agents})")
    for why, those in _by([row for row in rows if row.verdict == Verdict.INCOMPARABLE], lambda row: row.why).items():
        points.append(f"- {many_of(len(those), 'value')} cannot be compared. {why}")
    if points:
        parts += ["## What is not reproduced, and why", "\n".join(points)]
    for figure, parts_of in _by(drawn, lambda picture: picture.drawing["figure"]).items():
        heading = f"Figure{'s' if ' ' in figure else ''} {figure}"
        parts.append(f"## {heading}")
        for each in parts_of:
            parts.append(f"**{each.drawing['title']}.** {each.drawing.get('published', '')}".rstrip())
            parts.append(f"It is not drawn here. {each.why}" if each.why else f"![{heading}]({FIGURES}/{each.file})")
    return "\n\n".join([*parts, CLOSE]) + "\n"


def counted(rows: Iterable[Row]) -> str:
    """Count what is reproduced and the other verdicts, such as `12 of 15 reproduced; 3 worse`."""
    count = Counter(row.verdict for row in rows)
    compared = count.total() - count[Verdict.INCOMPARABLE]
    others = [f"{count[each]} {each}" for each in Verdict if count[each] and each is not Verdict.WITHIN]
    reproduced = f"{compared - sum(count[verdict] for verdict in MISSES)} of {compared} reproduced"
    return "; ".join(filter(None, (reproduced, ", ".join(others))))


def _by(those: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    """Group what has one key, in the order of the keys."""
    groups: dict[str, list[T]] = defaultdict(list)
    for each in those:
        groups[key(each)].append(each)
    return groups


def _matrix(rows: Sequence[Row]) -> str:
    """Write the values of a table, published/ours: metrics and agents by conditions, less what all share."""
    words = [in_words(row.condition).split(", ") for row in rows]
    shared = set(words[0]).intersection(*words)
    common = ", ".join(part for part in words[0] if part in shared)
    names = [", ".join(part for part in each if part not in shared) for each in words]
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
