"""The shape of the source: small files, small functions, and none of it about the place where it was written."""

import ast
import re
import subprocess

import pytest

from tests.house.modules import CHECKOUT, sources, tree

MOST_LINES = 250
MOST_FUNCTION_LINES = 30
TEXT = {".py", ".c", ".h", ".md", ".toml", ".json", ".yaml", ".yml", ".sh", ".cfg", ".txt", ""}

FORBIDDEN = {
    "the place of this checkout": re.compile(re.escape(str(CHECKOUT)) + r"\b"),
    "the home of whoever wrote it": re.compile(r"(?<![\w.])/(?:home|Users)/\w+/"),
    "a note to oneself": re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b"),
    "a conflict that is not resolved": re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE),
}


def tracked() -> list[str]:
    """The files of the project: those that git knows or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this is no git checkout")
    return [name for name in done.stdout.splitlines() if (CHECKOUT / name).is_file()]


def texts() -> dict[str, str]:
    """The text files of the project, this one aside, which must name what it looks for."""
    names = [name for name in tracked() if (CHECKOUT / name).suffix in TEXT and not name.endswith("test_shape.py")]
    return {name: (CHECKOUT / name).read_text(errors="replace") for name in names}


def functions():
    """Every function of numapin with its place and its length in lines, the docstring left out."""
    for module in sources():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
                documented = body[0].lineno - node.body[0].lineno if body is not node.body else 0
                yield f"{module}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1 - documented


@pytest.mark.parametrize("folder", ["numapin", "tests", "csrc", "tools"])
def test_no_file_is_long(folder):
    """One file, one subject."""
    files = [name for name in tracked() if name.startswith(f"{folder}/") and name.endswith((".py", ".c", ".h"))]
    assert files
    long = {name: len((CHECKOUT / name).read_text().splitlines()) for name in files}
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}


def test_no_function_is_long():
    """What does not fit in the eye is two things."""
    found = dict(functions())
    assert len(found) > 200
    assert {name: lines for name, lines in found.items() if lines > MOST_FUNCTION_LINES} == {}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what):
    """Nothing of the place where it was written, and nothing unfinished."""
    found = {name: match[0] for name, text in texts().items() if (match := FORBIDDEN[what].search(text))}
    assert len(texts()) > 50
    assert found == {}


def test_every_module_and_every_public_name_says_what_it_is():
    """A docstring each; of a class's own methods and of tests their names say it."""
    bare = []
    for module in sources():
        if not ast.get_docstring(tree(module)) and (CHECKOUT / sources()[module]).stat().st_size:
            bare.append(module)
        for node in tree(module).body:
            named = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if named and not ast.get_docstring(node):
                bare.append(f"{module}.{node.name}")
    assert bare == []


def test_python_knows_the_oldest_version_that_it_must():
    """No syntax later than that of requires-python."""
    for module in sources():
        ast.parse(sources()[module].read_text(), feature_version=(3, 10))
