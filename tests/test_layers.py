"""Who may import whom, and which words may stand where: read from the sources, without running them."""

import ast
import re
import sys
from pathlib import Path

import pytest

import armillary

SRC = Path(armillary.__file__).parent
FILES = sorted(SRC.rglob("*.py"))
MEASURES = [path for path in FILES if "measures" in path.relative_to(SRC).parts]


ORDER = (
    *("_version", "errors", "system", "measures", "corpora", "models", "results", "attention", "surveys", "prompts"),
    *("probes", "training", "verdicts", "figures", "printing", "reporting", "runs", "explorer", "cli"),
    *("__init__", "__main__"),
)
"""Every folder and file of the top level, lowest first: each may import what stands before it."""

UPWARD = {("results/store.py", "figures"), ("results/store.py", "reporting")}
"""A run draws itself, `run.plot(name)` and in a notebook, once figures are asked for."""

TORCH = ("models", "attention", "surveys", "prompts", "probes", "training")


def room(path):
    """The folder of the top level that a file stands in, or the file itself."""
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def shown(path):
    return str(path.relative_to(SRC))


def imports(tree):
    """Every imported module, also inside functions, and whether it is imported when the file is loaded."""
    typing_only = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ]
    hidden = {id(inner) for node in typing_only for inner in ast.walk(node)}
    inside = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            names = [node.module]
        for name in names:
            yield name, id(node) not in inside


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def handlers(path):
    return [node for node in ast.walk(parsed(path)) if isinstance(node, ast.ExceptHandler)]


def caught(handler):
    """The names that an except clause catches; a bare one catches ''."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {ast.unparse(kind) if kind is not None else "" for kind in kinds}


def test_the_sources_are_found():
    assert len(FILES) > 40
    assert len(MEASURES) > 10


@pytest.mark.parametrize("path", MEASURES, ids=shown)
def test_measures_need_numpy_and_scipy_alone(path):
    allowed = {"numpy", "scipy", "jaxtyping"} | sys.stdlib_module_names
    for name, _ in imports(parsed(path)):
        assert name.split(".")[0] in allowed or name.startswith("armillary.measures"), name


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_nothing_imports_what_stands_above_it(path):
    below = ORDER[: ORDER.index(room(path)) + 1]
    for name, _ in imports(parsed(path)):
        if name.split(".")[0] != "armillary" or name == "armillary":
            continue
        target = name.split(".")[1]
        assert target in below or (shown(path), target) in UPWARD, f"{shown(path)} imports {name}"


def test_every_room_has_its_place_in_the_order():
    assert {room(path) for path in FILES} == set(ORDER)


def test_the_exceptions_are_in_use():
    used = {
        (shown(path), name.split(".")[1]) for path in FILES for name, _ in imports(parsed(path)) if "armillary." in name
    }
    assert used >= UPWARD


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_torch_stays_left_of_the_border(path):
    if room(path) in TORCH:
        return
    for name, at_load in imports(parsed(path)):
        if name.split(".")[0] in ("torch", "transformers", "accelerate"):
            assert shown(path) == "system/surroundings.py", f"{name} in {shown(path)}"
            assert not at_load


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_plotly_is_for_figures(path):
    for name, _ in imports(parsed(path)):
        root = name.split(".")[0]
        if root in ("plotly", "matplotlib", "bokeh", "altair"):
            assert root == "plotly"
            assert room(path) in ("figures", "reporting", "explorer"), shown(path)


def test_the_command_line_alone_catches_armillarys_errors():
    catching = {shown(path) for path in FILES for handler in handlers(path) if "ArmillaryError" in caught(handler)}
    assert catching == {"cli/__init__.py"}


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_no_handler_catches_everything(path):
    for handler in handlers(path):
        assert not caught(handler) & {"", "Exception", "BaseException"}, f"{shown(path)}:{handler.lineno}"


def test_one_table_knows_the_names_of_families():
    naming = {shown(path) for path in FILES if re.search("llama", path.read_text(encoding="utf-8"), re.IGNORECASE)}
    assert naming == {"models/families.py", "models/sources/named.py"}


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_every_file_says_what_it_is_for(path):
    assert ast.get_docstring(parsed(path)) or not parsed(path).body


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_nothing_is_printed_but_by_the_command_line(path):
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print", f"{shown(path)}:{node.lineno}"


LINES, PARAMETERS = 60, 8


def functions(path):
    return [node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_a_function_fits_on_a_screen(path):
    for node in functions(path):
        assert (node.end_lineno or node.lineno) - node.lineno < LINES, f"{shown(path)}:{node.lineno} {node.name}"


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_a_function_has_few_parameters(path):
    """Measures name every array they need, public functions every option; the rest is told in a few words."""
    if room(path) == "measures":
        return
    for node in functions(path):
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        given = len(set(names) - {"self", "cls"})
        assert given <= PARAMETERS or node.name in armillary.__all__, f"{shown(path)}:{node.lineno} {node.name}"
