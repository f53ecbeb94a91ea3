"""YAML as plain data that remembers which file and line every key came from."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

from binwright.simcore.errors import ScenarioError, short
from binwright.simcore.fields import Keys

LIBRARY = Path(__file__).parents[1] / "library"
"""The scenarios that are shipped: named by their path below here, without `.yaml`."""
NOT_INHERITED = ("name", "description", "extends")
CHOICES = frozenset({"arrivals", "lifetimes", "overflow"})
"""Mappings of which one key is given: laid over one another, a different key replaces the whole mapping."""

# The C parser is an order of magnitude faster, but not every build of PyYAML has it.
_Safe = cast(type[yaml.SafeLoader], getattr(yaml, "CSafeLoader", yaml.SafeLoader))
_TAGS = {
    yaml.MappingNode: ("map",),
    yaml.SequenceNode: ("seq",),
    yaml.ScalarNode: ("str", "int", "float", "bool", "null", "timestamp", "merge", "value"),
}
_ODD = re.compile(r"[-+]?(?:[0-9][0-9_]*(:)[0-9:.]+|0[0-9_]+)")
"""Whole numbers that YAML does not count in tens: 1:30 is 90, and 010 is 8."""
DEEPEST = 100
"""Mappings and lists within one another; where these are many more, libyaml ends the process."""
_CODE = re.compile(r"[^:]*\.py:\w+")


class _Loader(_Safe):  # type: ignore[misc, valid-type]  # one of two classes
    """Reads 1e-3 and 1.5e3 as numbers, as YAML 1.2 does, and not only 1.0e-3."""


_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))


class Place(NamedTuple):
    """Where something was written."""

    file: str | None
    line: int | None = None


@dataclass(slots=True)
class Source:
    """The data of a scenario file laid over what it extends, and overrides over both; paths in it are absolute."""

    file: Path | None
    data: dict[str, Any] = field(default_factory=dict)
    places: dict[Keys, Place] = field(default_factory=dict)

    def place(self, keys: Keys) -> Place:
        """Find where a key was written, or else the nearest key around it."""
        for length in range(len(keys), 0, -1):
            if keys[:length] in self.places:
                return self.places[keys[:length]]
        return Place(str(self.file) if self.file else None)

    def value(self, keys: Keys) -> Any:
        """Find the value at these keys, `None` when there is none."""
        result: Any = self.data
        for key in keys:
            try:
                result = result[key]
            except (KeyError, IndexError, TypeError):
                return None
        return result

    def set(self, keys: Keys, value: object, places: dict[Keys, Place]) -> None:
        """Put a value there, making the mappings on the way; `places` say where it and what is in it came from."""
        parent: Any = self.data
        for depth, key in enumerate(keys):
            if not isinstance(parent, dict) and not (isinstance(key, int) and key < len(parent)):
                remedy = f"Its items are 0 to {len(parent) - 1}; or give the whole list."
                raise mistake(f"the list {dotted(keys[:depth])} has no item {key}", remedy, places[keys], keys)
            if depth == len(keys) - 1:
                parent[key] = value
                break
            if not isinstance(self.value(keys[: depth + 1]), dict | list):
                parent[key] = {}
                places = {keys[: depth + 1]: places[keys], **places}
            parent = parent[key]
        # What stood there before is gone, and so are its lines.
        self.places = {at: place for at, place in self.places.items() if at[: len(keys)] != keys} | places

    def lay_over(self, above: "Source", at: Keys = ()) -> None:
        """Lay other data over this: mappings key by key, anything else (lists too) is replaced."""
        for key, value in above.value(at).items():
            path = (*at, key)
            old = self.value(path)
            both = isinstance(old, dict) and isinstance(value, dict)
            if both and (key not in CHOICES or old.keys() & value):
                self.places[path] = above.place(path)
                self.lay_over(above, path)
            else:
                places = {keys: place for keys, place in above.places.items() if keys[: len(path)] == path}
                self.set(path, value, places)

    def place_of_override(self, text: str) -> Place:
        """Name an override, and the file of which it is one."""
        return Place(f"{self.file}, override {text}" if self.file else f"override {text}")

    def override(self, text: str) -> None:
        """Set one key from the command line's `key=value`; the value is YAML, and null takes the key out."""
        name, equals, value = text.partition("=")
        origin = self.place_of_override(text)
        if not equals or not name.strip():
            raise mistake("is not an override", "Write key.of.the.scenario=value.", origin)
        keys = undotted(name.strip())
        places = {keys: origin}
        data = _Reader(origin, Path.cwd(), places).read(value, keys)
        had = self.value(keys) is not None
        self.set(keys, data, places)
        parent = self.value(keys[:-1])
        if data is None and had and isinstance(parent, dict):
            del parent[keys[-1]]


def read(file: Path, _above: tuple[Path, ...] = ()) -> Source:
    """Read a scenario file, laid over the files that it extends."""
    file = file.resolve() if file.is_file() else file.absolute()  # a pipe has a name that leads nowhere
    try:
        content = file.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        remedy = "A scenario is a YAML file in UTF-8."
        raise mistake(f"cannot be read: {error.strerror}", remedy, Place(str(file))) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise mistake("this is not UTF-8 text", "Save it as UTF-8.", Place(str(file), line)) from None
    source = Source(file)
    data = _Reader(Place(str(file), 1), file.parent, source.places).read(text, ())
    if not isinstance(data, dict):
        remedy = "Write `cluster:`, `workload:` and `agents:` at the left margin."
        raise mistake("a scenario is a mapping of keys", remedy, Place(str(file), 1))
    source.data = data
    other = data.pop("extends", None)
    if other is None:
        return source
    below = Source(file)
    for number, each in enumerate(other if isinstance(other, list) and other else [other]):
        more = read(_extended(each, file, _above, source.place(("extends", number))), (file, *_above))
        for key in NOT_INHERITED:
            more.data.pop(key, None)
        below.lay_over(more)
    below.lay_over(source)
    return below


def _extended(other: object, file: Path, above: tuple[Path, ...], place: Place) -> Path:
    """Find a file that a scenario file extends, itself extended by those `above`."""
    if not isinstance(other, str):
        raise mistake("is not a name", "Name a scenario file, or a list of several.", place, ("extends",), other)
    path = Path(_absolute(other, file.parent, place))
    if not path.is_file() and (named := Path(_absolute(f"{other}.yaml", LIBRARY, place))).is_file():
        path = named
    problem = "extends itself" if path in (file, *above) else "there is no such file"
    if problem == "extends itself" or not path.is_file():
        remedy = "Name another scenario file, relative to the one that extends it, or a shipped one (quickstart)."
        raise mistake(problem, f"{remedy} This means {path}.", place, ("extends",), other)
    return path


class _Reader:
    """Turns YAML into plain data; enters in `places` where every key was written, and makes paths absolute.

    `origin` is the file; without a line when it is not a file but an override.
    """

    def __init__(self, origin: Place, folder: Path, places: dict[Keys, Place]) -> None:
        self._origin, self._folder, self._places = origin, folder, places
        self._open: list[yaml.Node] = []

    def read(self, text: str, at: Keys) -> Any:
        """Read the data in a YAML text that stands at these keys."""
        try:
            self._check_depth(text, at)
            self._loader = _Loader(text)
            node = self._loader.get_single_node()
            return None if node is None else self._convert(node, at)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            number = mark.line if mark else 0
            tab = "\t" in "".join(text.splitlines()[number : number + 1])
            remedy = "Indent with spaces: YAML takes no tabs." if tab else "Check colons, quotes and indentation there."
            problem = ", ".join(part for part in (error.context, error.problem) if part)
            raise mistake(f"this is not valid YAML: {problem}", remedy, self._place(number), at) from None
        except yaml.YAMLError as error:
            problem = f"this is not valid YAML: {str(error).splitlines()[0]}"
            raise mistake(problem, "Save the file as UTF-8 text.", self._origin, at) from None

    def _check_depth(self, text: str, at: Keys) -> None:
        """Refuse what is nested too deeply before libyaml makes nodes of it, which calls itself for every level."""
        depth = 0
        for event in yaml.parse(text, _Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise self._too_deep(event.start_mark.line if event.start_mark else 0, at)

    def _convert(self, node: yaml.Node, at: Keys) -> Any:
        place = self._place(node.start_mark.line)
        self._places.setdefault(at, place)
        if node.tag.removeprefix("tag:yaml.org,2002:") not in _TAGS[type(node)]:
            remedy = "Write plain text, numbers, lists and mappings."
            raise mistake(f"the tag {short(node.tag)} is not taken", remedy, place, at)
        if isinstance(node, yaml.ScalarNode):
            try:
                value = self._loader.construct_object(node)
            except ValueError as error:  # 2020-13-01, or thousands of digits
                problem = f"{short(node.value)} cannot be read: {short(str(error))}"
                raise mistake(problem, "Put it in quotes if it is text.", place, at) from None
            if isinstance(value, str):
                return self._text(at, value, place)
            if isinstance(value, int) and not node.style and (base := _ODD.fullmatch(node.value)):
                problem = f"{node.value} would be {value} in YAML, which counts it in base {60 if base[1] else 8}"
                remedy = f"Write {value}, or in quotes what it is."
                raise mistake(problem, remedy, place, at)
            return value
        if node in self._open:
            raise mistake("an alias contains itself", "Write the value out.", place, at)
        self._open.append(node)
        if len(self._open) > DEEPEST:  # by aliases
            raise self._too_deep(node.start_mark.line, at)
        if isinstance(node, yaml.MappingNode):
            value = self._mapping(node, at)
        else:
            value = [self._convert(item, (*at, index)) for index, item in enumerate(node.value)]
        self._open.pop()
        return value

    def _mapping(self, node: yaml.MappingNode, at: Keys) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            place = self._place(key_node.start_mark.line)
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise mistake("merge keys are not taken", "Use `extends:`, or write the keys out.", place, at)
            if key_node.tag != "tag:yaml.org,2002:str":
                raise mistake(f"the key {key_node.value} is not text", "Put it in quotes.", place, at)
            key = self._code(key_node.value, place)
            path = (*at, key)
            if key in result:
                remedy = f"Keep one of the two; the other is on line {self._places[path].line}."
                raise mistake("is written twice", remedy, place, path)
            self._places[path] = place
            result[key] = self._convert(value_node, path)
        return result

    def _text(self, at: Keys, value: str, place: Place) -> str:
        """Complete what is relative to the file that says it: a `path`, and the Python files of agents."""
        words = [key for key in at if isinstance(key, str)]
        if words and words[-1].rpartition(".")[2] == "path":
            return _absolute(value, self._folder, place)
        return value if words[-1:] == ["label"] else self._code(value, place)

    def _code(self, text: str, place: Place) -> str:
        """Make the file of `file.py:Class` absolute; other text stays as it is."""
        return _absolute(text, self._folder, place) if _CODE.fullmatch(text) else text

    def _too_deep(self, line: int, at: Keys) -> ScenarioError:
        return mistake("is nested too deeply", "Close brackets where they end.", self._place(line), at)

    def _place(self, line: int) -> Place:
        return self._origin if self._origin.line is None else Place(self._origin.file, line + 1)


def mistake(problem: str, remedy: str, place: Place, at: Keys = (), value: object = None) -> ScenarioError:
    """Make the message of a mistake that is written there, at these keys."""
    key = dotted(at) or None
    return ScenarioError(problem, file=place.file, line=place.line, key=key, value=value, remedy=remedy)


def _absolute(text: str, folder: Path, place: Place) -> str:
    """Complete a path that is relative to a folder."""
    try:
        path = (folder / Path(text).expanduser()).resolve()
        path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # too long, with NUL, of a user without a home
        why = (isinstance(error, OSError) and error.strerror) or error
        raise mistake(f"{short(text)} is not a path: {why}", "Name a file.", place) from None
    return str(path)


def with_relative_paths(data: Any, root: Path, folder: Path, key: str = "") -> Any:
    """Write the paths of files in `root`, which `read` made absolute, as a file in `folder` has them."""
    if isinstance(data, dict):
        return {
            with_relative_paths(name, root, folder): with_relative_paths(value, root, folder, name)
            for name, value in data.items()
        }
    if isinstance(data, list):
        return [with_relative_paths(value, root, folder, key) for value in data]
    is_path = isinstance(data, str) and key != "label" and (key.rpartition(".")[2] == "path" or _CODE.fullmatch(data))
    return os.path.relpath(data, folder) if is_path and Path(data).is_relative_to(root) else data


def dotted(keys: Iterable[str | int]) -> str:
    """Write keys as overrides, sweeps and messages do: `cluster.groups.0.count`."""
    return ".".join(map(str, keys))


def undotted(text: str) -> Keys:
    """Split a dotted name into keys; below `sweep.product` and `sweep.zip` the rest is one key."""
    words = text.split(".")
    if words[0] == "sweep" and len(words) > 3:
        return (words[0], words[1], ".".join(words[2:]))
    return tuple(int(word) if word.isdigit() else word for word in words)
