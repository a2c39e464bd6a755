# SPDX-License-Identifier: Apache-2.0
"""The page in Chromium says what the command-line tool says, to everybody, within its limits."""
import contextlib
import gzip
import os
import re
import shlex
import subprocess
from xml.etree import ElementTree

import pytest
from conftest import ROOT, SITE, TOOL, Files, tool
from questions import FP8, MAP, MMA, NVFP4, QUESTIONS, TCGEN05, WGMMA, ULP_ADDRESS
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

PATIENCE = 20  # seconds, on a busy machine
LIMIT = float(os.environ.get("WEB_SECONDS", 1))  # until the first view
AXE = ROOT / "build/web/npm/node_modules/axe-core/axe.min.js"
TEXTS = r"""
  const [caption, rest] = arguments[0].includes(" | ") ? arguments[0].split(" | ") : [null, arguments[0]];
  const within = caption === null ? document : [...document.querySelectorAll("table")].find(t => t.caption?.textContent === caption);
  return [...within?.querySelectorAll(rest) ?? []].map(e => e.textContent.trim().replace(/\s+/g, " "));"""
VIEWS = {"home": "#/home", "layout": f"#/layout/{MMA}?select=a[3,5]&by=ldmatrix", "layout-shared": f"#/layout/{WGMMA}?swizzle=128&select=b[9,8]",
         "layout-tensor": f"#/layout/{TCGEN05}?select=d[17,5]", "layout-scales": f"#/layout/{NVFP4}?select=scale_a[3,0]",
         "sum": f"#/sum/{MMA}?targets=sm_80,sm_90a&{ULP_ADDRESS}", "gpu": f"#/gpu/{FP8}",
         "descriptor": f"#/descriptor/0x4000004000013fff?form={WGMMA}", "tensormap": f"#/tensormap/{MAP}",
         "format": "#/format/e4m3?number=3.3", "profile": "#/profile", "refusal": "#/layout/mma.m16n8k16.f64.f16",
         "form": f"form/{MMA}.html", "forms": "form/family-mma.html"}
GUIDE = (ROOT / "doc/guide/in-the-browser.md").read_text()
LINKS = re.findall(r"^ +`(#/[^`]+)`$", GUIDE, re.M)


def texts(browser, selector):
    return browser.execute_script(TEXTS, selector)


def wait(browser, condition, what):
    WebDriverWait(browser, PATIENCE, 0.05).until(lambda _: condition(), what)


def is_drawn(browser):
    return browser.execute_script("""return !document.body.classList.contains("busy") && !document.querySelector("[data-captures]:not(:empty)")?.textContent.includes("…")
      && (document.querySelector("#view > :not(.hint)") !== null)""")


def visit(browser, address):
    """As in a new tab, so that nothing is left of another test."""
    browser.get("about:blank")
    browser.get(address)
    wait(browser, lambda: is_drawn(browser), f"{address}: no view is drawn")


def go(browser, site, address):
    """By the address alone: from the list of questions, in a page that is loaded already."""
    if address.startswith("form/"):
        return visit(browser, site + address)
    if not browser.current_url.startswith(site + "#"):
        visit(browser, site + "#/home")
    for to in ("#/home", address or "#/home"):
        browser.execute_script("location.hash = arguments[0]", to)
        wait(browser, lambda: is_drawn(browser) and (texts(browser, ".questions") != []) == (to == "#/home"), f"{to}: no view is drawn")


def do(browser, step):
    verb, _, rest = step.partition(" ")
    what, _, value = rest.partition(" = ")
    if verb == "back":
        return browser.back()
    if verb == "key":
        return browser.switch_to.active_element.send_keys(getattr(Keys, rest))
    selector = {"click": rest, "type": what, "set": f"#parameters [name='{what}']", "line": "#input"}[verb]
    wait(browser, lambda: browser.find_elements(By.CSS_SELECTOR, selector), f"{step}: no such element")
    at = browser.find_element(By.CSS_SELECTOR, selector)
    browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", at)
    if verb == "click":
        at.click()
    elif at.tag_name == "select":
        Select(at).select_by_visible_text(value)
    else:
        at.clear()
        at.send_keys((rest if verb == "line" else value) + Keys.ENTER)
    wait(browser, lambda: is_drawn(browser), f"{step}: no view is drawn")


@pytest.mark.parametrize("q", QUESTIONS, ids=lambda q: " ".join([q.address[:60], *q.steps])[:100])
def test_page_says_what_the_tool_says(browser, site, q):
    expected = [" ".join(text.split()) for text in q.texts(tool(*q.command))]
    assert expected and all(text is not None for text in expected)
    go(browser, site, q.address)
    for step in q.steps:
        do(browser, step)
    with contextlib.suppress(TimeoutException):
        wait(browser, lambda: texts(browser, q.selector) == expected, q.selector)
    assert texts(browser, q.selector) == expected


def test_there_are_forty_questions():
    assert len(QUESTIONS) >= 40


@pytest.mark.parametrize("link", LINKS)
def test_links_of_the_guide(browser, site, link):
    """A link opens without a refusal, and the tool accepts the command lines that it shows."""
    go(browser, site, link)
    lines = texts(browser, "#commands code")
    assert lines and texts(browser, "#view .refusal") == []
    for line in lines:
        answer = tool(*shlex.split(line)[1:], "--json")
        assert isinstance(answer, dict), answer


def test_guide_has_ten_links():
    assert len(LINKS) >= 10 and len(set(LINKS)) == len(LINKS)


RING = ("examples/ring.ptx", "--block", "96", "--arg", "zeros:u32:256", "--arg", "zeros:u32:256", "--profile", "--json")


@pytest.fixture
def ring(tmp_path):
    """The answer of a launch in a file, and beside it the picture of that launch."""
    out = tmp_path / "ring.json"
    answer = subprocess.run([TOOL, "launch", *RING, "--svg", tmp_path / "ring.svg"], cwd=ROOT, capture_output=True, text=True, check=True)
    out.write_text(answer.stdout)
    return out


def choose(browser, site, file):
    """The view of a profile, with that file."""
    visit(browser, site + "#/profile")
    browser.find_element(By.CSS_SELECTOR, "#view input").send_keys(str(file))
    wait(browser, lambda: texts(browser, "#view .picture svg > title, #view .refusal") != [], "no answer is drawn")


def test_profile_is_the_picture_of_the_launch(browser, site, tmp_path, ring):
    """The file that the page gives has the bytes that launch --svg writes; what is shown is that document."""
    svg = ring.with_suffix(".svg")
    choose(browser, site, ring)
    assert texts(browser, "#view h2") == ["ring on sm_90a: 1 block of 96 threads"] == texts(browser, "#view .picture svg > title")
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.find_element(By.CSS_SELECTOR, "#whole").click()
    given = tmp_path / "profile.svg"
    wait(browser, given.exists, "the picture is not kept")
    assert given.read_bytes() == svg.read_bytes()
    assert texts(browser, "#view .picture text") == [" ".join(t.text.split()) for t in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert texts(browser, "#commands code") == ["warpbit profile ring.json --svg profile.svg"]


def test_profile_of_a_file_that_is_dropped(browser, site, ring):
    visit(browser, site + "#/profile")
    browser.execute_script("""
      const moved = new DataTransfer();
      moved.items.add(new File([arguments[0]], "dropped.json"));
      document.querySelector("#view .drop").dispatchEvent(new DragEvent("drop", { dataTransfer: moved, cancelable: true }));""", ring.read_text())
    wait(browser, lambda: texts(browser, "#view .picture svg > title") == ["ring on sm_90a: 1 block of 96 threads"], "no picture")
    assert texts(browser, "#view p code")[-1] == "dropped.json"


def test_profile_has_the_colours_of_the_page(browser, site, ring):
    choose(browser, site, ring)
    paper = lambda: browser.execute_script("return getComputedStyle(document.querySelector('.picture .wb-paper')).fill")
    try:
        for theme, colour in (("dark", "rgb(27, 27, 27)"), ("light", "rgb(255, 255, 255)")):
            browser.execute_script("document.documentElement.dataset.theme = arguments[0]; document.dispatchEvent(new Event('theme'))", theme)
            assert paper() == colour
    finally:
        browser.execute_script("delete document.documentElement.dataset.theme")


def test_profile_of_another_file_is_refused_and_another_may_be_chosen(browser, site, tmp_path):
    file = tmp_path / "other.json"
    for text in ("nonsense", "{}", '{"schema": "layout/1"}'):
        file.write_text(text)
        choose(browser, site, file)
        refusal = subprocess.run([TOOL, "profile", file.name], cwd=tmp_path, capture_output=True, text=True).stderr
        assert texts(browser, "#view .refusal") == [" ".join(refusal.removeprefix("warpbit: ").split())]
        assert len(browser.find_elements(By.CSS_SELECTOR, "#view input")) == 1


def first_view(browser, address):
    browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    visit(browser, address)
    wait(browser, lambda: browser.execute_script("return window.firstView"), "firstView")
    return browser.execute_script("return window.firstView") / 1000


def test_size_and_time(browser, site):
    """All that the page loads, compressed, and how long it takes, the best of three; on a busy machine WEB_SECONDS may be more than one."""
    browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    Files.asked.clear()
    visit(browser, site + VIEWS["layout"])
    loaded = {path.split("?")[0].lstrip("/") or "index.html" for path in Files.asked}
    assert {"index.html", "style.css", "main.mjs", "worker.js", "warpbit.js", "warpbit.wasm"} <= loaded
    size = sum(len(gzip.compress((SITE / path).read_bytes(), 9)) for path in loaded)
    seconds = {view: min(first_view(browser, site + VIEWS[view]) for _ in range(3)) for view in ("home", "layout")}
    print(f"{len(loaded)} files, {size} bytes compressed; first view after {seconds} s")
    assert size < 2_000_000
    assert seconds["home"] < LIMIT and seconds["layout"] < LIMIT


def test_answers_without_a_network(browser, site):
    visit(browser, site + VIEWS["layout"])
    browser.execute_cdp_cmd("Network.enable", {})
    condition = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", condition)
    try:
        do(browser, "set select = b[2,1]")
        wait(browser, lambda: texts(browser, ".chosen-words .answer span") == tool("where", MMA, "b[2,1]").splitlines(), "b[2,1]")
        do(browser, "line e4m3 0x7e")
        wait(browser, lambda: texts(browser, "#heading") == ["Format: e4m3"], "the view of e4m3")
    finally:
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**condition, "offline": False, "downloadThroughput": -1, "uploadThroughput": -1})


def look(browser, colours, width):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": colours}]})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})


def check_accessible(browser, show, name, colours, width):
    """axe reports nothing; the page is not wider than the window. Pictures for people: build/web/screenshots."""
    look(browser, colours, width)
    try:
        show()
        if not browser.execute_script("return 'axe' in window"):
            browser.execute_script(AXE.read_text())
        found = browser.execute_async_script("axe.run().then(arguments[0])")["violations"]
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        folder = ROOT / "build/web/screenshots"
        folder.mkdir(exist_ok=True)
        browser.get_screenshot_as_file(str(folder / f"{name}-{colours}-{width}.png"))
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert [(v["id"], v["help"], [n["html"][:200] for n in v["nodes"]][:3]) for v in found] == []
    assert wide <= width


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_accessible(browser, site, view, colours, width):
    check_accessible(browser, lambda: go(browser, site, VIEWS[view]), view, colours, width)


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_profile_is_accessible(browser, site, colours, width, ring):
    check_accessible(browser, lambda: choose(browser, site, ring), "profile-drawn", colours, width)


def test_print_shows_the_view_alone(browser, site):
    visit(browser, site + VIEWS["layout"])
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        shown = {name: browser.find_element(By.CSS_SELECTOR, name).is_displayed() for name in ("#view", "#line", "#views", "#parameters", "#copy")}
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == {"#view": True, "#line": False, "#views": False, "#parameters": False, "#copy": False}
