"""The house: four floors, and imports that go one way."""

import ast

import pytest

from tests.house.modules import CHANGE, DECIDE, FLOORS, READ, SPEAK, Import, floor, imports, sources, tree

PURE = {"abc", "collections", "enum", "errno", "functools", "itertools", "math", "operator", "re", "shlex", "typing"}
"""The standard library as far as deciders may use it: nothing of it looks at the machine, the clock or chance."""
PURE |= {"__future__", "fnmatch"}
PURE |= {"dataclasses"}  # numapin.values, for whoever asks what a value's fields are

VALUES = {"assignment", "counters", "engine", "errors", "ids", "marker", "server", "settings", "speed", "topology"}
VALUES |= {"tree", "values"}
"""The deciders' value modules: what readers fill."""

HOMES = {
    "click": ("numapin.cli.commands", "numapin.cli.progress", "numapin.cli"),
    "psutil": ("numapin.sources.pod",),
    "pynvml": ("numapin.sources.nvml",),
    "pyroute2": ("numapin.sources.netlink",),
    "structlog": ("numapin.log",),
    "tomli": ("numapin.sources.profiles",),
}
"""The one module of each third-party library; click is the command line's own, in two."""


def named(found: list[Import]) -> list[str]:
    return [f"{one.importer} imports {one.module}" for one in found]


def test_every_module_is_on_a_floor():
    """And no floor is listed for a module that is gone."""
    assert {floor(module) for module in sources()} == {DECIDE, READ, CHANGE, SPEAK}
    assert set(FLOORS) <= set(sources())
    unlisted = [name for name in sources() if name.count(".") == 1 and name not in FLOORS]
    assert unlisted == []


def test_there_are_imports_to_look_at():
    """The tests below would pass on nothing."""
    assert len(imports()) > 200
    assert Import("numapin.sources.nvml", "pynvml", in_function=True) in imports()
    assert Import("numapin.kernel", "os", in_function=False) in imports()


def test_deciders_import_only_deciders_and_what_is_pure():
    """No os, no files, no clock, no chance, no process: values in, values out."""
    own = [one for one in imports() if floor(one.importer) == DECIDE]
    assert named([one for one in own if one.is_ours and floor(one.module) != DECIDE]) == []
    assert named([one for one in own if not one.is_ours and one.top not in PURE]) == []


def test_deciders_open_no_file():
    """`open` needs no import."""
    effects = {"open", "print", "input", "exec", "eval", "__import__"}
    found = [
        f"{module}:{node.lineno}"
        for module in sources()
        if floor(module) == DECIDE
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in effects
    ]
    assert found == []


def test_readers_import_only_values_and_readers():
    """What they read is judged elsewhere."""
    allowed = {f"numapin.{name}" for name in VALUES}
    ours = [one for one in imports() if floor(one.importer) == READ and one.is_ours]
    assert named([one for one in ours if floor(one.module) != READ and one.module not in allowed]) == []


def test_what_changes_things_neither_reads_the_machine_nor_speaks():
    """It gets a plan, and gives back what came of it."""
    ours = [one for one in imports() if floor(one.importer) == CHANGE and one.is_ours]
    assert named([one for one in ours if floor(one.module) in (READ, SPEAK)]) == []


def test_nobody_imports_the_command_line():
    """It is the top."""
    found = [one for one in imports() if one.module.startswith("numapin.cli")]
    others = [one for one in found if not one.importer.startswith("numapin.cli") and one.importer != "numapin.__main__"]
    assert named(others) == []


def test_pictures_and_logs_do_nothing_else():
    """render and log are given values: they neither read nor change."""
    ours = [one for one in imports() if one.importer.startswith(("numapin.render", "numapin.log")) and one.is_ours]
    assert named([one for one in ours if floor(one.module) in (READ, CHANGE)]) == []


def test_only_what_changes_things_reaches_the_kernel():
    """One door: numapin.kernel is made by `run` alone, the C module by it alone."""
    assert {one.importer for one in imports() if one.module == "numapin.kernel"} == {"numapin.cli.running"}
    assert {one.importer for one in imports() if one.module == "numapin._native"} == {"numapin.kernel.calls"}
    assert {one.importer for one in imports() if one.module == "numapin._bench"} == {"numapin.kernel.bench"}


def test_a_dry_run_has_no_way_to_the_kernel():
    """The module of `plan` and `check` reaches it through a function of `run` and of `keep` only."""
    found = [one for one in imports() if one.module in ("numapin.cli.running", "numapin.apply", "numapin.kernel")]
    able = ("numapin.cli.running", "numapin.cli.keep")
    early = [one for one in found if not one.in_function and one.importer not in able]
    assert named(early) == []


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_in_one_module(library):
    """So that what it is asked, and what happens without it, is in one place."""
    found = [one for one in imports() if one.top == library]
    assert {one.importer for one in found} == set(HOMES[library])


def test_libraries_are_imported_where_they_are_needed():
    """Inside a function: numapin starts without them. click is what numapin.cli.commands is made of."""
    foreign = [one for one in imports() if one.is_foreign and one.importer != "numapin.cli.commands"]
    assert named([one for one in foreign if not one.in_function]) == []
    assert {one.top for one in imports() if one.is_foreign} == set(HOMES)


def test_modules_do_not_import_each_other_in_circles():
    """Also not through a function."""
    ours = [one for one in imports() if one.module in sources()]
    needs = {module: {one.module for one in ours if one.importer == module} for module in sources()}
    done: set[str] = set()
    while ready := {module for module, needed in needs.items() if module not in done and needed <= done}:
        done |= ready
    assert sorted(set(needs) - done) == []
