"""Built-in models and corpora, and this machine."""

import torch

from armillary._version import __version__


def test_models_and_corpora_are_listed(armillary):
    assert "smollm2" in armillary("models")[1]
    assert "wikitext2" in armillary("corpora")[1]


def test_info_names_versions_and_devices(armillary, monkeypatch, tmp_path):
    monkeypatch.setenv("ARMILLARY_CACHE", str(tmp_path / "cache"))
    code, out, _ = armillary("info")
    facts = {line.split(maxsplit=1)[0]: line.split(maxsplit=1)[1] for line in out.splitlines()}
    assert code == 0
    assert facts["torch"] == torch.__version__
    assert facts["armillary"] == __version__
    assert facts["devices"].startswith("cpu")
    assert facts["cache"] == f"{tmp_path / 'cache'} (0 MB)"
