"""Every function and class is used by the package, or offered: public, a command, or a measure of docs/measures.md."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import armillary

SOURCE = Path(armillary.__file__).parent
MEASURES = Path(__file__).parent.parent / "docs" / "measures.md"
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def names_in(node):
    """Every name that a piece of code uses: as itself, as an attribute, or imported under another name."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.alias) and part.asname not in (None, part.name):
            yield part.name


def is_command(node):
    """Whether a decorator hands the function to the command line, or to the registry of claims."""
    calls = [decorator.func for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    return any(
        (isinstance(call, ast.Attribute) and call.attr in ("command", "callback"))
        or (isinstance(call, ast.Name) and call.id in ("claim", "of_model"))
        for call in calls
    )


def unused(folder, public):
    """Definitions at the top of a module that no other piece of code below the folder names."""
    defined, users = [], defaultdict(set)
    for path in sorted(folder.rglob("*.py")):
        module = path.relative_to(folder).as_posix()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            own = (module, node.name) if isinstance(node, DEFINITIONS) else (module, "")
            if isinstance(node, DEFINITIONS) and not node.name.startswith("__") and not is_command(node):
                defined.append(own)
            for name in names_in(node):
                users[name].add(own)
    return [
        f"{module}: {name}" for module, name in defined if name not in public and not users[name] - {(module, name)}
    ]


def test_whatever_is_defined_is_used_or_offered():
    offered = set(re.findall(r"`(\w+)`", MEASURES.read_text(encoding="utf-8")))
    found = unused(SOURCE, set(armillary.__all__))
    assert [name for name in found if not (name.startswith("measures/") and name.split(": ")[1] in offered)] == []


def test_what_only_names_itself_or_is_only_imported_is_found(tmp_path):
    (tmp_path / "one.py").write_text(
        "def used():\n    pass\n\n\ndef itself():\n    return itself()\n\n\ndef imported():\n    pass\n\n\n"
        "class Renamed:\n    pass\n\n\n@app.command()\ndef command():\n    pass\n\n\ndef public():\n    pass\n"
    )
    (tmp_path / "two.py").write_text("from one import Renamed as Other\nfrom one import imported, used\n\nused()\n")
    assert unused(tmp_path, {"public"}) == ["one.py: itself", "one.py: imported"]
