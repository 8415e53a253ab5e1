"""The answers to the built-in task: what is printed is what was answered, beside the control."""

import io
import json

import numpy as np
import xarray as xr
from rich.console import Console

from armillary.printing import answers


def text_of(printed):
    console = Console(file=io.StringIO(), markup=False, highlight=False, width=140)
    console.print(printed)
    return console.file.getvalue()


def test_the_answers_of_the_task_are_shown_with_their_null():
    names = ("diagonal", "within", "across", "outside")
    shares = {
        f"mass_{name}{end}": (("shots", "block"), np.full((1, 2), value))
        for name in names
        for end, value in (("", 0.25), ("_se", 0.01), ("_null", 0.5))
    }
    lines = {"continuation": (("shots", "word"), np.array([["[b]a clue"]]))}
    given = xr.Dataset(lines | shares, coords={"shots": [3], "word": ["river"]}, attrs={"model": "tiny"})
    out = text_of(answers.printed(given))
    assert "[b]a clue" in out
    first, second = (line.split() for line in out.splitlines() if line.strip().startswith("3, "))
    assert first == ["3,", "0", *4 * ["25.0", "1.0", "50.0"]]
    assert second[:2] == ["3,", "1"]
    read = json.loads(answers.as_json(given))
    assert read["clues"] == {"3": {"river": "[b]a clue"}}
    assert len(read["rows"]) == 2
    assert list(answers.rows(given).columns[:2]) == ["shots", "block"]
