"""A sweep as a user starts it: every cell trained once, claims answered, a stopped one gone on with."""

import pytest
import torch

import armillary as arm
from armillary.errors import RequestError
from armillary.runs import sweep as sweeping

TINY = {"width": 8, "mlp": 8, "steps": 4, "batch": 4, "context": 8, "vocabulary": 260, "warmup": 0}
TINY |= {"log_every": 2, "validate_every": 4, "save_every": 4, "geometry_every": 4}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("the cat sat on the mat, the dog on the log\n" * 40, encoding="utf-8")
    return str(path)


def test_a_sweep_trains_every_cell_once_and_answers_the_claims(tmp_path, corpus, monkeypatch):
    torch.set_num_threads(1)
    given = {"kappa_scale": [100, 0], "kappa_trace": [1, 0], "seeds": 1, "corpus": corpus, "progress": False, **TINY}
    plain, calls = sweeping.train, []

    def counted(name, **options):
        calls.append(options["out"].name)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return plain(name, **options)

    monkeypatch.setattr(sweeping, "train", counted)
    with pytest.raises(KeyboardInterrupt):
        arm.sweep("locater", out=tmp_path / "sweep", **given)
    run = arm.sweep("locater", out=tmp_path / "sweep", **given)
    assert calls == ["0-0-0", "0-1-0", "100-0-0", "100-1-0", "100-1-0"]
    table = run.results["training_sweep"].to_dataset()
    assert table.perplexity.shape == (2, 2)
    assert table.kappa_scale.values.tolist() == [0, 100]
    assert set(table.verdict.values.ravel()) == {"not determined"}
    assert "locater-sweep" in (tmp_path / "sweep/report.html").read_text(encoding="utf-8")


def test_what_cannot_be_swept_is_refused(tmp_path):
    for wrong, message in {
        "expected kappa_scale as a finite number of at least 0, got -1: choose another": {"kappa_scale": [-1]},
        "expected at least one kappa_trace, got none: give some, such as 0,1": {"kappa_trace": []},
        "expected at least 1 seed, got 0: choose more": {"seeds": 0},
        "expected a sweep that looks at the geometry, got geometry_every 0: choose another": {"geometry_every": 0},
    }.items():
        with pytest.raises(RequestError) as caught:
            arm.sweep(out=tmp_path / "sweep", **{"kappa_scale": [0], "kappa_trace": [0], **message})
        assert str(caught.value) == wrong
