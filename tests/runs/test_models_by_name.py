"""A name or a folder in the place of a model is refused in a sentence, whatever is asked of it."""

import subprocess
import sys

ASKED = """
from pathlib import Path
import armillary as arm
for ask in (
    lambda model: arm.survey(model, "python-docs"),
    arm.plan,
    arm.weights,
    arm.stores,
    lambda model: arm.travel(model, "a text"),
    lambda model: arm.gaussian(model, None),
    lambda model: arm.prompt(model, "a text"),
):
    for model in ("smollm2", Path("runs/m"), 3):
        try:
            ask(model)
        except arm.RequestError as error:
            print(error)
"""


def test_what_is_no_loaded_model_is_refused():
    # in a process without shape checks, as users have it
    said = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True).stdout.splitlines()
    lines = [
        f"expected a model as `arm.load` gives it, got {shown}: load it with arm.load(...) first"
        for shown in ("'smollm2'", "'runs/m'", "int")
    ]
    assert said == 7 * lines
