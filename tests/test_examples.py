"""Every example runs as a user would run it, with warnings as errors, and says what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SAYS = {
    "alpha": ["alpha 0.25", "alpha 4", "entropy", "continuation"],
    "first_survey": ["minilm: 32 windows", "layer 0: position", "layer 6: position"],
    "own_model": ["position_share_corrected", "rank_stable_corrected"],
    "random_weights": ["trained", "random weights"],
}
NEEDS_A_REAL_MODEL = {"alpha", "first_survey", "random_weights"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.real if name in NEEDS_A_REAL_MODEL else ()) for name in sorted(SAYS)],
)
def test_an_example_runs_and_answers_its_question(name, tmp_path):
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=tmp_path,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert ended.returncode == 0, ended.stderr
    assert all(words in ended.stdout for words in SAYS[name])
    assert not list(tmp_path.iterdir())


def test_every_example_is_run_and_short():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 40
        assert text.splitlines()[0].endswith("?"), "an example asks one question"
