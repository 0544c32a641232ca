"""The bring-up guides quote the template as it is, and both languages quote the same parts."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("quotes", ROOT / "scripts" / "quotes.py")
quotes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(quotes)

PAGES = [ROOT / "docs" / "bring-up.md", ROOT / "docs" / "bring-up.zh.md"]


def quoted(page):
    return [match[3] for match in quotes.QUOTE.finditer(page.read_text(encoding="utf-8"))]


def test_every_quote_equals_its_source():
    assert [path.name for path in quotes.stale()] == []


def test_both_languages_quote_the_same_parts():
    english, chinese = map(quoted, PAGES)
    assert english == chinese
    assert len(english) >= 5


def test_every_comment_that_announces_a_quote_is_followed_by_one():
    for page in PAGES:
        assert page.read_text(encoding="utf-8").count("<!-- quote ") == len(quoted(page))


def test_a_changed_quote_is_seen(tmp_path):
    text = PAGES[0].read_text(encoding="utf-8").replace("static", "dynamic", 1)
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    assert [path.name for path in quotes.stale(tmp_path)] == ["page.md"]


def test_a_part_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="no part"):
        quotes.part("templates/plugin/plugin.c", "nothing")
