"""Predicts how long GPU work takes on a node of eight MI300X when it computes and communicates at once.

There is a function for each command of c3sim but `completion`, whose arguments are the command's options:

    rows = c3sim.c3(gemm="8192x57344x8192", collective="all_gather", bytes="896MiB", strategy="conccl")

A value is a text as on the command line ("896MiB"), a number, True for an option without a value, or several of these:
a list, a range, a generator, an array. A whole number of a size is bytes. `set` and `param` take a dictionary, too. An option whose name Python keeps for itself ends in "_": copy(from_="gpu0").
What is at fault raises InputError with the message of the command line. Any number of threads may ask at once.
"""

import inspect as _inspect
import keyword as _keyword
import os as _os

from c3sim import _core
from c3sim._core import InputError

__version__ = _core.version


class Rows(list):
    """The rows of an answer, a dictionary each: those of the first table of the command's JSON (--format json) that has
    any, `results` in most. A slice keeps all else.

    platform: its name. tables: every table by its key, the rows among them ("explanation" of explain=True). warnings,
    notes: sentences. holds: False where what was checked does not hold (validate: a case outside its band).
    """

    def __init__(self, answer):
        tables = list(answer["tables"].values())
        super().__init__(next(filter(None, tables), []))
        self.platform = answer["platform"]
        self.tables = answer["tables"]
        self.warnings = answer["warnings"]
        self.notes = answer["notes"]
        self.holds = answer["holds"]

    def __getitem__(self, place):
        found = super().__getitem__(place)
        if not isinstance(place, slice):
            return found
        part = Rows.__new__(Rows)
        part.extend(found)
        part.__dict__.update(self.__dict__)
        return part


def frame(rows):
    """The rows of an answer, or of several one behind another, as a DataFrame of pandas: "by_kind.gemm" as in CSV."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("frame needs pandas, which is not installed: pip install pandas") from error

    table = pandas.DataFrame([_flat(row) for row in rows])
    if isinstance(rows, Rows):
        table.attrs.update(platform=rows.platform, warnings=rows.warnings, notes=rows.notes)
    return table


def _flat(row):
    flat = {}
    for key, value in row.items():
        flat.update({f"{key}.{each}": cell for each, cell in value.items()} if isinstance(value, dict) else {key: value})
    return flat


def _argument(name):
    return name + "_" if _keyword.iskeyword(name) else name


def _bytes(typed, text):
    """Encodes text as command lines do: names of files may not be UTF-8."""
    try:
        if "\0" not in text:
            return _os.fsencode(text)
    except UnicodeEncodeError:
        pass
    raise InputError(f"{typed}: {text!r} is no text that a command line may have")


def _text(option, value):
    if isinstance(value, (str, _os.PathLike)):
        return _os.fsdecode(value)
    if str(value) in ("True", "False"):  # NumPy has booleans of its own
        return str(value).lower()
    if hasattr(value, "__index__") or hasattr(value, "__float__"):
        text = str(value)  # numbers, including those of NumPy
        if option.form.startswith("SIZE") and float(value).is_integer():
            return f"{int(value)}B"  # rows show sizes so
        return text
    raise InputError(f"{option.typed}: {type(value).__name__} is no value: a text, a number, or a list of them is "
                     "accepted")


def _several(value):
    """Returns the values of a list, a range, a generator or an array; None for a single value, such as an array of no
    dimension, and for a set, which has no order."""
    if isinstance(value, (str, bytes, bytearray, _os.PathLike, set, frozenset)) or getattr(value, "ndim", 1) == 0:
        return None
    try:
        return list(value)
    except TypeError:
        return None


def _texts(option, value):
    """Returns the words of the command line for an option; nothing if the command line would not name it."""
    if value is None or value is False:
        return []
    if option.said == "alone":
        if value is True:
            return ["yes"]
        raise InputError(f"{option.typed}: {value!r} is no value: True or False is accepted")
    if value is True:
        if option.said == "maybe_alone":
            return [option.alone]
        raise InputError(f"{option.typed}: True is no value: {option.form} is accepted")
    if isinstance(value, dict):
        value = [f"{name}={_text(option, each)}" for name, each in value.items()]
    several = _several(value)
    if several is None:
        return [_text(option, value)]
    texts = [_text(option, each) for each in several]
    if option.said in ("again", "listed", "all_in_place"):
        return texts
    if not texts:
        raise InputError(f"{option.typed}: an empty list names no value: leave the argument out for what c3sim takes "
                         "then")
    return [",".join(texts)]


def _in_place(option):
    return option.said in ("in_place", "all_in_place")


def _signature(options):
    places = [each for each in options if _in_place(each)]
    kinds = _inspect.Parameter
    return _inspect.Signature(
        [kinds(_argument(each.name), kinds.POSITIONAL_OR_KEYWORD, default=kinds.empty if each.required else None)
         for each in places]
        + [kinds(_argument(each.name), kinds.KEYWORD_ONLY, default=kinds.empty if each.required else None)
           for each in options if each not in places])


def _documentation(command, options):
    lines = [command.about + ".", ""]
    for option in options:
        accepted = f" ({option.form})" if option.form else " (True)"
        lines.append(f"{_argument(option.name)}{accepted}: {option.help}{'; required' if option.required else ''}.")
    return "\n".join([*lines, "", "On the command line:", command.notes])


def _function(command, shelf):
    options = command.options
    by_name = {_argument(each.name): each for each in options} | {each.name: each for each in options}
    places = [_argument(each.name) for each in options if _in_place(each)]

    def ask(*placed, **said):
        if len(placed) > len(places):
            raise InputError(f"error: {placed[len(places)]!r} is not expected of {command.name}")
        given = {}
        named = set()
        for name, value in [*zip(places, placed), *said.items()]:
            option = by_name.get(name)
            if option is None:
                given[_bytes("error", name)] = [b""]
                continue
            if option.name in named:
                raise InputError(f"error: {option.typed} is given twice")
            named.add(option.name)
            if texts := _texts(option, value):
                given[option.name] = [_bytes(option.typed, text) for text in texts]
        answer = command.ask(given, shelf)
        return answer["text"] or Rows(answer)

    ask.__name__ = ask.__qualname__ = command.name
    ask.__doc__ = _documentation(command, options)
    ask.__signature__ = _signature(options)
    return ask


# Platform files are read once, and again after they change.
_shelf = _core.PlatformShelf()
_functions = {command.name: _function(command, _shelf) for command in _core.commands()}
globals().update(_functions)
__all__ = ["InputError", "Rows", "frame", *_functions]
