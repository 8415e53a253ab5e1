"""The notebook of the examples runs from top to bottom on a real model, and shows what it says."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples" / "song_and_zhong.ipynb"


@pytest.mark.real
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_walk_through_the_paper_runs_and_shows_its_figures(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are made by whoever runs it"
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.execute()
    given = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = [kind for output in given for kind in output.get("data", {})]
    assert kinds.count("application/vnd.plotly.v1+json") == 6
    assert any("minilm on python-docs" in output.get("data", {}).get("text/html", "") for output in given)
    assert any("position  Position explains" in output.get("text", "") for output in given)
    assert not any(output.output_type == "error" for output in given)
