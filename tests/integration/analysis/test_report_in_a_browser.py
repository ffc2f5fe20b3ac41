"""A report as its readers open it: from a file, in Chromium, with the network off, in light and dark, on paper."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fairtrial_analysis.examples import Came, example_report, troubled
from fairtrial_analysis.html.page import render
from playwright.sync_api import Browser, Page, sync_playwright

from local_cluster import packages
from tests.renamed_report import ATTRIBUTE, HEBREW, LONG, MARKUP, TURNING, renamed

# The first test installs Chromium where there is none.
pytestmark = pytest.mark.timeout(1800)

WIDE, NARROW = 1280, 390
# Text that a reader sees, with its contrast against what lies behind it: WCAG 2.2, success criterion 1.4.3.
CONTRASTS = """() => {
  const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const boxes = { 'tick on-m1': 'm1', 'tick on-m2': 'm2', 'tick on-m3': 'm3', 'tick on-m4': 'm4', 'tick on-m0': 'm0' };
  const found = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length || ['TITLE', 'DESC', 'title', 'desc'].includes(e.tagName)) continue;
    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith('svg');
    let back = behind(e);
    const shade = svg && boxes[e.getAttribute('class')];
    if (shade) back = rgb(getComputedStyle(document.querySelector('.cell.' + shade)).fill);
    if (svg && e.classList.contains('on-bar')) {
      const bar = [...e.closest('svg').querySelectorAll('rect.bar')].find(r => {
        const a = r.getBoundingClientRect(), b = e.getBoundingClientRect();
        return a.left <= b.left && a.right >= b.right && a.top <= b.bottom && a.bottom >= b.top;
      });
      back = rgb(getComputedStyle(bar).fill);
    }
    const [a, b] = [light(rgb(svg ? style.fill : style.color)), light(back)].sort((x, y) => y - x);
    const name = e.tagName + '.' + (e.getAttribute('class') || '');
    found.push([name, e.textContent.trim().slice(0, 40), (a + 0.05) / (b + 0.05)]);
  }
  return found;
}"""


@dataclass
class Opened:
    """A page, and all that happened while it was open."""

    page: Page
    address: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    first_stop: str = ""  # of the tabulator key

    def unfolded(self, width: int = WIDE) -> Page:
        """The page as wide as this, on a screen, with nothing folded."""
        self.page.emulate_media(media="screen")
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        return self.page

    def folded(self) -> Page:
        """The page as it is opened first."""
        self.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = false)")
        return self.page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, installed once. Tests run as root, where it has no sandbox; pages under test are our own."""
    with sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=packages.provide("chromium", "chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


def story(task: int, arm: str, repetition: int, attempt: int) -> Came:
    """As usual, with trouble, but that one cell has no tokens, and one nothing but runs that were lost."""
    came = troubled(task, arm, repetition, attempt)
    if arm == "plain" and task == 2:
        return replace(came, tokens=None)
    return Came("invalid", None) if arm == "plain" and task == 4 else came


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    names = {"task-01": MARKUP, "task-02": ATTRIBUTE, "task-03": LONG, "task-05": HEBREW, "plain": TURNING}
    file.write_bytes(render(renamed(example_report(story=story), names)))
    return file


@pytest.fixture(scope="module", params=["light", "dark"])
def opened(browser: Browser, report: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    scheme = request.param
    context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": WIDE, "height": 900})
    found = Opened(context.new_page(), report.as_uri())
    found.page.on("request", lambda request: found.requests.append(request.url))
    found.page.on("console", lambda message: found.complaints.append(message.text))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.goto(found.address)
    found.page.keyboard.press("Tab")
    found.first_stop = found.page.evaluate("document.activeElement.textContent")
    yield found
    context.close()


def test_it_opens_offline_asks_for_nothing_and_complains_of_nothing(opened: Opened):
    opened.unfolded()

    assert opened.requests == [opened.address]
    assert opened.complaints == []
    assert opened.page.get_by_role("main").get_by_text("INCONCLUSIVE").first.is_visible()


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_is_wider_than_the_screen(opened: Opened, width: int):
    page = opened.unfolded(width)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.body.scrollWidth") <= width


def test_every_text_stands_out_from_what_lies_behind_it(opened: Opened):
    found = opened.unfolded().evaluate(CONTRASTS)

    assert len(found) > 1000
    assert [each for each in found if each[2] < 4.5] == []


def test_it_prints(opened: Opened):
    pdf = opened.page.pdf(prefer_css_page_size=True)

    assert pdf.startswith(b"%PDF-")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") + pdf.count(b"/Type /Page/") >= 10
    assert opened.requests == [opened.address]


def test_folded_tables_are_printed_too(opened: Opened):
    page = opened.folded()
    hidden = "[...document.querySelectorAll('details table')].filter(each => !each.checkVisibility()).length"
    on_screen = page.evaluate(hidden)

    page.emulate_media(media="print")

    assert on_screen > 5
    assert page.evaluate(hidden) == 0


def test_all_of_it_can_be_reached_by_keyboard(opened: Opened):
    # Whatever scrolls sideways takes the focus, so that arrow keys move it.
    stuck = opened.unfolded(NARROW).evaluate(
        "[...document.querySelectorAll('body *')].filter(each => each.scrollWidth > each.clientWidth + 1"
        " && getComputedStyle(each).overflowX === 'auto' && each.tabIndex !== 0).length"
    )

    assert opened.first_stop == "Skip to the result"
    assert stuck == 0


def test_every_link_within_the_page_leads_somewhere(opened: Opened):
    lost = opened.page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(each => each.getAttribute('href').slice(1))"
        ".filter(id => !document.getElementById(id))"
    )

    assert lost == []


def test_what_others_wrote_is_text_and_nothing_else(opened: Opened):
    page = opened.unfolded()
    text = page.locator("body").inner_text()

    assert page.locator("script").count() == page.locator("[onmouseover]").count() == 0
    assert {name for name in (MARKUP, ATTRIBUTE, HEBREW, LONG) if name not in text} == set()
    assert "\u202e" not in page.content()
    assert "gpj.⟨U+202E⟩exe⟨U+2066⟩" in text
