"""Results, reports and pages can be shared: no home folder, no user name, no password or token stands in them."""

import getpass
import sys

import pytest
from starlette.testclient import TestClient

import armillary as arm
from armillary.explorer.app import application
from armillary.probes.reloading import reloaded
from armillary.system.texts import shareable
from tiny_run import saved_model, texts

USER = "eve-the-user"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with the user's name in it, where model, texts and runs lie."""
    folder = tmp_path / "home" / USER
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USER", USER)
    monkeypatch.setenv("LOGNAME", USER)
    assert getpass.getuser() == USER
    return folder


def test_nothing_of_the_user_stands_in_a_run_a_report_or_an_answer(home, monkeypatch):
    token = "hf_" + "a1B2" * 8
    model, corpus = saved_model(home), texts(home)
    command = ["survey", model, "--corpus", corpus, "--out", str(home / "run")]
    monkeypatch.setattr(
        sys, "argv", [f"{home}/bin/armillary", *command, f"https://{USER}:{token}@host/x?token={token}"]
    )
    run = arm.survey(arm.load(model), corpus, out=home / "run", contexts=12, length=16, progress=False)
    assert run.provenance["command"].startswith("armillary survey ~/")
    pages = [path.read_bytes() for path in run.folder.rglob("*") if path.is_file()]
    assert len(pages) >= 2
    with TestClient(application(arm.open(home / "run")), base_url="http://127.0.0.1") as client:
        pages += [client.get(path).content for path in ("/", "/api/run")]
    for page in pages:
        assert USER.encode() not in page
        assert token.encode() not in page
    assert run.provenance["model"].startswith("~/")
    assert reloaded(run).provenance["model_sha256"] == run.provenance["model_sha256"]


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("/home/eve/runs/a", "~/runs/a"),
        ("--out=/home/eve", "--out=~"),
        ("/home/eve2/runs", "/home/eve2/runs"),
        ("/data/home/eve/x", "/data/home/eve/x"),
        ("https://eve:word@host/x", "https://host/x"),
        ("hf_abcdefghijklmnopqrst", ""),
        ("half_a_word and sk_learn", "half_a_word and sk_learn"),
    ],
)
def test_what_is_shared_keeps_all_but_home_and_secrets(monkeypatch, text, shared):
    monkeypatch.setenv("HOME", "/home/eve")
    assert shareable(text) == shared
