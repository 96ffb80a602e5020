#!/usr/bin/env python3
"""stub.py FOLDER writes the type stub of the package c3sim in FOLDER from the signatures of its functions."""
import inspect
import sys

sys.path.insert(0, sys.argv[1])
import c3sim  # noqa: E402  (from the folder that is named)

HEAD = '''from os import PathLike
from typing import Any, Iterable, Literal, Mapping, Sequence, SupportsIndex, Union, overload

_Value = Union[str, int, float, bool, PathLike[str], Iterable[Union[str, int, float, PathLike[str]]], None]
_Assignments = Union[str, Sequence[str], Mapping[str, Union[str, int, float]], None]

__version__: str

class InputError(ValueError): ...

class Rows(list[dict[str, Any]]):
    platform: str
    tables: dict[str, list[dict[str, Any]]]
    warnings: list[str]
    notes: list[str]
    holds: bool
    @overload
    def __getitem__(self, place: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> "Rows": ...

def frame(rows: Sequence[Mapping[str, Any]]) -> Any: ...
'''


def kind_of(option):
    """Words of lower case, separated by bars, are values: one may be given, or several if "all" is among them."""
    if not option.form:
        return "bool"
    words = option.form.split("|")
    if option.form != option.form.lower() or "all" in words or len(words) == 1:
        return "_Assignments" if option.form.endswith("=VALUE") else "_Value"
    also = ", bool" if option.alone else ""
    return f"Union[Literal[{', '.join(map(repr, words))}]{also}, None]"


def declaration(command):
    function = getattr(c3sim, command.name)
    options = {c3sim._argument(option.name): option for option in command.options}
    parameters, named = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            parameters.append("*")
            named = True
        default = "" if parameter.default is parameter.empty else " = ..."
        parameters.append(f"{parameter.name}: {kind_of(options[parameter.name])}{default}")
    documentation = inspect.getdoc(function).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    body = "\n".join("    " + line if line else "" for line in f'"""{documentation}\n"""'.split("\n"))
    answer = {"schema": "str", "sweep": "Union[Rows, str]"}.get(command.name, "Rows")
    return f"def {command.name}({', '.join(parameters)}) -> {answer}:\n{body}\n"


print(HEAD)
print("\n".join(map(declaration, c3sim._core.commands())), end="")
