"""What the pages point to is there: files, headings inside them; and the first page names what a newcomer looks for."""

import re
import tomllib
from pathlib import Path

import pytest
import typer

from fairtrial.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for folder in (
        "",
        "docs",
        "docs/decisions",
        "examples",
        "benchmarks",
        "local_cluster",
        "analysis",
        "charts/fairtrial",
    )
    for page in (ROOT / folder).glob("*.md")
)
_LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:)([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The names that headings can be linked to by."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text()):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: there is no {target.relative_to(ROOT)}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: {target.name} has no such heading"


def test_there_are_pages() -> None:
    assert len(PAGES) > 25


def test_the_first_page_names_every_command() -> None:
    programs = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"])
    commands = {f"fairtrial {name}" for name in typer.main.get_command(app).commands}  # type: ignore[attr-defined]

    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| `fairtrial")]
    named = {" ".join(each.split()) for line in rows for each in re.findall(r"`([^`]+)`", line.split("|")[1])}

    assert commands | programs <= named | {"fairtrial"}
    assert {each for each in named if each.startswith("fairtrial")} <= commands | programs, "which is no command"


def test_every_target_that_a_page_names_is_there_and_the_first_page_names_what_a_newcomer_needs() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))

    named = {
        page: set(re.findall(r"(?:^|`)make ([a-z0-9-]+)(?=`| +#| [A-Z]+=|$)", page.read_text(), re.MULTILINE))
        for page in PAGES
    }

    assert {(page.name, target) for page, found in named.items() for target in found - targets} == set()
    assert {"demo", "test", "try", "down", "prune", "setup"} <= named[ROOT / "README.md"]
    assert {"setup", "check", "test", "generate", "demo", "up", "down", "bench"} <= targets
