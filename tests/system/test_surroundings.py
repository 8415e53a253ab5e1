"""What a run says about where it was made."""

import sys

from armillary.system.surroundings import command


def test_the_command_is_the_same_however_it_was_started(monkeypatch):
    for program in ("/opt/venv/bin/armillary", "/opt/lib/armillary/__main__.py"):
        monkeypatch.setattr(sys, "argv", [program, "survey", "minilm"])
        assert command() == "armillary survey minilm"


def test_another_program_keeps_its_name_without_its_folder(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/home/someone/study.py", "--fast"])
    assert command() == "study.py --fast"
