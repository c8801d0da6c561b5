"""numapin's own source, as the tests of the house read it: modules, their imports, their floors."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PACKAGE = CHECKOUT / "numapin"

DECIDE, READ, CHANGE, SPEAK = "decide", "read", "change", "speak"
FLOORS = {
    "numapin": DECIDE,
    "numapin.assignment": DECIDE,
    "numapin.commission": DECIDE,
    "numapin.engine": DECIDE,
    "numapin.counters": DECIDE,
    "numapin.errors": DECIDE,
    "numapin.figures": DECIDE,
    "numapin.hints": DECIDE,
    "numapin.home": DECIDE,
    "numapin.ids": DECIDE,
    "numapin.marker": DECIDE,
    "numapin.orders": DECIDE,
    "numapin.placement": DECIDE,
    "numapin.plan": DECIDE,
    "numapin.planning": DECIDE,
    "numapin.policies": DECIDE,
    "numapin.proof": DECIDE,
    "numapin.reasons": DECIDE,
    "numapin.server": DECIDE,
    "numapin.speed": DECIDE,
    "numapin.settings": DECIDE,
    "numapin.shares": DECIDE,
    "numapin.steps": DECIDE,
    "numapin.topology": DECIDE,
    "numapin.tree": DECIDE,
    "numapin.units": DECIDE,
    "numapin.values": DECIDE,
    "numapin.verdict": DECIDE,
    "numapin.sources": READ,
    "numapin.apply": CHANGE,
    "numapin.command": CHANGE,
    "numapin.keeper": CHANGE,
    "numapin.kernel": CHANGE,
    "numapin.load": CHANGE,
    "numapin.trials": CHANGE,
    "numapin.__main__": SPEAK,
    "numapin.cli": SPEAK,
    "numapin.keeping": SPEAK,
    "numapin.log": SPEAK,
    "numapin.render": SPEAK,
}
"""The floor of each module, or of the package that it is in. A new module gets its floor here."""


@dataclass(frozen=True)
class Import:
    """One import, wherever in its module it stands."""

    importer: str
    module: str
    """What is imported: of `from a.b import c` it is a.b.c where that is a module of ours, else a.b."""
    in_function: bool

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]

    @property
    def is_ours(self) -> bool:
        return self.top == "numapin"

    @property
    def is_foreign(self) -> bool:
        return not self.is_ours and self.top not in sys.stdlib_module_names


@cache
def sources() -> dict[str, Path]:
    """Every module of numapin by its name."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(CHECKOUT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def floor(module: str) -> str:
    """The floor of a module: its own, or that of the nearest package above it."""
    while module not in FLOORS:
        module = module.rpartition(".")[0]
    return FLOORS[module]


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(sources()[module].read_text())


@cache
def imports() -> tuple[Import, ...]:
    """Every import of every module, those for type checkers alone left out."""
    return tuple(one for module in sources() for one in _imports(module, tree(module), in_function=False))


def _imports(module: str, node: ast.AST, *, in_function: bool) -> Iterator[Import]:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            children: list[ast.stmt] = node.orelse
        case ast.Import():
            yield from (Import(module, alias.name, in_function) for alias in node.names)
            return
        case ast.ImportFrom():
            assert node.level == 0, f"{module} imports relative to itself: one spelling is enough"
            yield from (Import(module, _target(node.module or "", alias.name), in_function) for alias in node.names)
            return
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name))]):
            yield Import(module, name, in_function)
            return
        case _:
            children = list(ast.iter_child_nodes(node))  # type: ignore[arg-type]
    inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in children:
        yield from _imports(module, child, in_function=inside)


def _target(module: str, name: str) -> str:
    return f"{module}.{name}" if f"{module}.{name}" in sources() or name in ("_native", "_bench") else module
