# SPDX-License-Identifier: Apache-2.0
"""The pages of forms, made beforehand, without a browser: all there, equal to the tool's, and linked."""
import html
import html.parser
import pathlib
import tempfile
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from conftest import SITE, tool

VIEWS = {"home", "layout", "sum", "gpu", "descriptor", "tensormap", "format"}


def forms():
    return {f["form"]: f for f in reversed(tool("list", "--forms", "--json")["forms"])}


def differences(form, folder):
    """What a form's page and picture have otherwise than the tool."""
    name = form["form"].replace(":", "_")
    page, picture, wanted = SITE / f"form/{name}.html", SITE / f"form/{name}.svg", folder / f"{name}.svg"
    if not page.exists():
        return [f"{page}: no such file"]
    words = ["layout", form["form"], *(["--idesc", form["idesc_example"]] if "idesc_example" in form else [])]
    text, shown = tool(*words), html.unescape(page.read_text())
    if text.startswith("warpbit: "):
        return [] if text.removeprefix("warpbit: ").strip() in shown else [f"{page}: it lacks {text}"]
    tool(*words, "--svg", str(wanted))
    out = [] if text in shown else [f"{page}: another text than that of {words}"]
    if not picture.exists() or picture.read_bytes() != wanted.read_bytes():
        out.append(f"{picture}: another picture than that of {words}")
    wanted.unlink()
    return out


def test_each_form_has_the_page_and_the_picture_of_the_tool():
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda form: differences(form, pathlib.Path(folder)), forms().values()))
    assert len(found) > 1000
    assert [d for of_form in found for d in of_form] == []


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src"):
                self.links.append(value)
            elif name == "id":
                self.names.add(value)


def test_links_resolve():
    """Each link leads to a file, and its fragment to an element or to a view of a form."""
    pages = {path.resolve(): Page(path.read_text()) for path in SITE.rglob("*.html")}
    known, broken = {*forms(), "scale_factors"}, []
    for path, page in pages.items():
        for link in page.links:
            to, _, fragment = link.partition("#")
            if to.startswith("data:"):
                continue
            there = (path.parent / to).resolve() if to else path
            if fragment.startswith("/"):
                view, _, subject = fragment[1:].partition("?")[0].partition("/")
                fine = there.name == "index.html" and view in VIEWS and (view == "home" or urllib.parse.unquote(subject) in known)
            else:
                fine = there.exists() and (not fragment or fragment in pages[there].names)
            if not fine:
                broken.append(f"{path}: {link}")
    assert len(pages) > 1000
    assert broken == []
