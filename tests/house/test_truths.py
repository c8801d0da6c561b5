"""One truth each: codes, hints, options, steps and exit statuses are listed once, and everything else follows."""

import ast
import json
import re
import typing

import pytest

from numapin import hints, reasons, settings, steps
from numapin.cli import options, table
from numapin.errors import Exit
from numapin.plan import Outcome
from tests.house.modules import PACKAGE, sources, tree

CODE = re.compile(r"[A-Z]{2,}(?:_[A-Z]+)+|SANDBOXED")
FINDERS = {"Finding", "Note", "Reason"}
"""What carries a reason code, as its first argument."""


def speaking() -> list[str]:
    return [
        module for module in sources() if module.startswith(("numapin.verdict", "numapin.proof", "numapin.sources"))
    ]


def raised() -> set[str]:
    """The codes that findings and notes are made with."""
    found = set()
    for module in speaking():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FINDERS:
                first = node.args[0] if node.args else next(word.value for word in node.keywords if word.arg == "code")
                found |= {part.value for part in ast.walk(first) if isinstance(part, ast.Constant)}
    return {code for code in found if isinstance(code, str) and CODE.fullmatch(code)}


def written() -> set[str]:
    """Every text in verdict, proof and sources that looks like a code."""
    nodes = [node for module in speaking() for node in ast.walk(tree(module)) if isinstance(node, ast.Constant)]
    return {node.value for node in nodes if isinstance(node.value, str) and CODE.fullmatch(node.value)}


def test_every_code_that_is_raised_has_a_meaning():
    """In the one table."""
    assert raised() - set(reasons.MEANINGS) == set()
    assert len(raised()) > 20


def test_every_meaning_is_raised_somewhere():
    """No code stands in the table alone."""
    assert set(reasons.MEANINGS) - written() == set()


def test_every_hint_belongs_to_a_code():
    """And the codes about placement have one in a pod and one outside."""
    inside, outside, anywhere = set(hints._IN_POD), set(hints._OUTSIDE), set(hints._ANYWHERE)
    assert inside == outside
    assert not outside & anywhere
    assert (outside | anywhere) - set(reasons.MEANINGS) == set()


def test_every_code_that_misaligns_says_what_to_do():
    """A refusal without a remedy is half a refusal."""
    weighty = {code for code, (weight, _) in reasons.MEANINGS.items() if weight != "notice"}
    assert weighty - set(hints._OUTSIDE) - set(hints._ANYWHERE) == set()


def field_words(name: str) -> set[str]:
    """The words that a field of Settings takes."""
    kind = typing.get_type_hints(settings.Settings)[name]
    kinds = [kind, *typing.get_args(kind)]
    return {word for one in kinds if typing.get_origin(one) is typing.Literal for word in typing.get_args(one)}


@pytest.mark.parametrize("option", table.EVERY, ids=lambda option: option.name)
def test_an_option_takes_the_words_of_its_field(option):
    """No word that the settings do not know, and none missing."""
    if option.field not in options.FIELDS:
        assert option.field in options.Asked.__annotations__
        return
    words = {word for word in option.form.split("|") if word.islower()} - {"auto", "none"} or set()
    words |= {"none"} if option.name == "policy" else set()
    # A profile's name is any word; `off` is one that no profile has.
    words -= {"off"} if "PROFILE" in option.form else set()
    assert words == field_words(option.field)
    for word in words:
        assert option.parse(word) == word


def test_every_setting_is_an_option():
    """But what is said of the options themselves."""
    assert {option.field for option in table.EVERY} >= options.FIELDS - {"explicit"}


def test_defaults_are_those_of_the_settings():
    """A command line that says nothing asks for what `Settings()` is."""
    asked = options.resolve({}, {})
    assert asked.settings == settings.Settings()


def test_exit_statuses_are_those_of_the_contract():
    """sysexits.h and the shell gave them their numbers."""
    assert {name: int(status) for name, status in Exit.__members__.items()} == {
        "ALIGNED": 0,
        "USAGE": 2,
        "CANNOT_TELL": 69,
        "BUG": 70,
        "REFUSED": 77,
        "MISALIGNED": 78,
        "NOT_EXECUTABLE": 126,
        "NOT_FOUND": 127,
    }


def schema(name: str) -> dict:
    return json.loads((PACKAGE / "render" / f"{name}.schema.json").read_text())


def test_the_schema_lists_what_there_is():
    """Kinds of steps, outcomes, modes, policies and codes, each as the values have them."""
    report = schema("report")
    step = report["$defs"]["step"]["properties"]
    assert set(step["kind"]["enum"]) == {kind.kind for kind in typing.get_args(steps.Step)}
    assert set(step["outcome"]["enum"]) == set(typing.get_args(Outcome))
    assert set(step["mode"]["enum"]) == set(typing.get_args(settings.Mode))
    assert set(report["properties"]["policy"]["enum"]) == set(typing.get_args(settings.Policy))
    code = re.compile(report["$defs"]["reason"]["properties"]["code"]["pattern"])
    assert [name for name in reasons.MEANINGS if not code.search(name)] == []


def test_the_schemas_say_which_form_they_are():
    """The name that a report carries is the schema's own."""
    for name in ("report", "topology", "verify", "measure", "bench"):
        assert schema(name)["properties"]["schema"]["const"] == f"numapin.{name}/v1"
