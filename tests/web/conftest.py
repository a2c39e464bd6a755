# SPDX-License-Identifier: Apache-2.0
"""The built page on a file server, Chromium, and the command-line tool, which knows all answers."""
import functools
import http.server
import json
import os
import pathlib
import subprocess
import threading

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build/web/site"
TOOL = os.environ.get("WARPBIT_CLI", str(ROOT / "build/release/warpbit"))
# A page that asks another host says so in the browser's log.
POLICY = "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"


@functools.cache
def tool(*words):
    """What the tool prints; the object with --json; its refusal."""
    done = subprocess.run([TOOL, *words], capture_output=True, text=True)
    text = done.stdout or done.stderr
    return json.loads(text) if "--json" in words and done.stdout else text


class Files(http.server.SimpleHTTPRequestHandler):
    asked = []

    def __init__(self, *args):
        super().__init__(*args, directory=SITE)

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_):
        self.asked.append(self.path)


@pytest.fixture(scope="session")
def site():
    """The address of the built page."""
    assert (SITE / "index.html").exists(), f"{SITE}: no page there; scripts/web builds it"
    server = http.server.ThreadingHTTPServer(("localhost", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking",
                     "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
      new MutationObserver((_, observer) => {
        if (!document.querySelector("#view > div > *")) return;
        observer.disconnect();
        requestAnimationFrame(() => { window.firstView = performance.now(); });
      }).observe(document, { childList: true, subtree: true });"""})
    yield driver
    driver.quit()


@pytest.fixture(autouse=True)
def clean_log(request):
    """No test leaves an error in the browser's log: none of JavaScript, no missing file, no other host."""
    yield
    if "browser" in request.fixturenames:
        log = request.getfixturevalue("browser").get_log("browser")
        assert [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")] == []
