"""What a report may cost: size, time to make and time to answer, for a real run of the usual size."""

import subprocess
import sys
import time

import pytest

import armillary as arm

COMMAND = "from armillary.cli import main; main()"


@pytest.mark.real
@pytest.mark.nightly
def test_the_report_of_smollm2_is_small_soon_made_and_answers_at_once(tmp_path, answered_after, record_property):
    settings = {"contexts": 64, "length": 128, "heads": True, "progress": False}
    view = arm.load("smollm2")
    run = arm.heads(arm.survey(view, "python-docs", out=tmp_path, report=False, **settings), view, progress=False)
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", COMMAND, "report", str(run.folder)], check=True, capture_output=True)
    page = tmp_path / "report.html"
    found = {
        "seconds to make": time.perf_counter() - start,
        "megabytes": page.stat().st_size / 1e6,
        "milliseconds to the answers": answered_after(page.as_uri()),
    }
    for name, value in found.items():
        record_property(name, value)
        print(f"{name}: {value:.2f}")
    assert found["seconds to make"] < 15
    assert found["megabytes"] < 20
    assert found["milliseconds to the answers"] < 3000
