"""The tutorial runs from top to bottom on a real model, and shows what it says."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


def test_the_tutorial_keeps_no_outputs_because_whoever_runs_it_makes_them():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


@pytest.mark.real
@pytest.mark.nightly  # `make docs` runs it at every change
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_tutorial_runs_and_shows_its_figures(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.execute()
    given = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = [kind for output in given for kind in output.get("data", {})]
    plotted = [cell for cell in notebook.cells if "run.plot(" in cell.source]
    assert kinds.count("application/vnd.plotly.v1+json") == len(plotted) == 7
    assert any("minilm on python-docs" in output.get("data", {}).get("text/html", "") for output in given)
    assert any("position  Position explains" in output.get("text", "") for output in given)
    assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in given)
