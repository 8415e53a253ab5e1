"""Texts that any file and screen can hold."""

import pytest

from armillary.system.texts import escaped, in_quotes, seen, short


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 日", "plain ä 日"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\\x1b", "\\\\x1b"),
        ("\ud800\0", "\\ud800\\x00"),
        ("\u202e", "\\u202e"),
    ],
)
def test_what_could_steer_a_screen_is_escaped_and_can_be_read_back(text, shown):
    assert escaped(text) == shown
    assert escaped(text).isprintable()
    assert shown.encode("latin-1", "backslashreplace").decode("unicode_escape") == text


@pytest.mark.parametrize(
    ("text", "shown", "between"),
    [(" the", " the", "‘ the’"), ("  ", "␣␣", "‘␣␣’"), ("", "", "‘’"), ("a" * 20, "a" * 20, f"‘{'a' * 15}…’")],
)
def test_a_token_of_blanks_is_seen_and_a_long_one_is_cut(text, shown, between):
    assert seen(text) == shown
    assert in_quotes(text) == between


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("smollm2", "smollm2"),
        ("owner/model", "owner/model"),
        ("runs/add/model", "add"),
        ("/data/runs/add/model/", "add"),
        ("~/texts/plays.txt", "plays.txt"),
        ("./model", "model"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_a_path_is_called_by_its_last_name(source, name):
    assert short(source) == name
