"""A headless Chromium, driven by the WebDriver protocol: JSON over HTTP to the chromedriver of Debian's packages."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = [
    "--headless",
    "--no-sandbox",  # CI is root in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]
KEYS = {
    "Tab": "\ue004", "Left": "\ue012", "Right": "\ue014", "End": "\ue010", "Home": "\ue011", "Enter": "\ue007",
    "Escape": "\ue00c", "Control": "\ue009", "Backspace": "\ue003",
}  # fmt: skip
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

_direct = build_opener(ProxyHandler({}))


class Browser:
    """One window."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"
        chrome = {"binary": CHROMIUM, "args": FLAGS}
        options = {"browserName": "chrome", "goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self._url += f"/session/{session['sessionId']}"

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with _direct.open(Request(self._url + path, data, method=method), timeout=60) as answer:
            return json.load(answer)["value"]

    def open(
        self, page: Path | str, width: int = 1400, height: int = 900, *, dark: bool = False, calm: bool = False
    ) -> None:
        """Open a file or an address, in light or dark, for who wants less motion or not."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"},
        ]
        self.devtools("Emulation.setEmulatedMedia", features=features)
        self._call("POST", "/url", {"url": page if isinstance(page, str) else page.resolve().as_uri()})

    def devtools(self, command: str, **parameters: object) -> Any:
        """A call of the DevTools protocol."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def run(self, script: str, *arguments: object) -> Any:
        """What a script in the page returns; it may be a promise."""
        return self._call("POST", "/execute/sync", {"script": script, "args": arguments})

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, where the focus is."""
        strokes = [KEYS.get(key, key) for key in keys]
        actions = [{"type": kind, "value": stroke} for stroke in strokes for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def chord(self, held: str, key: str) -> None:
        """Press a key while another is held."""
        strokes = [("keyDown", held), ("keyDown", key), ("keyUp", key), ("keyUp", held)]
        actions = [{"type": kind, "value": KEYS.get(stroke, stroke)} for kind, stroke in strokes]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def click(self, selector: str) -> None:
        """Click on the element."""
        self._call("POST", f"/element/{self._find(selector)}/click", {})

    def _find(self, selector: str) -> str:
        topology: str = self._call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        return topology

    def inaccessible(self) -> list[str]:
        """Violations of WCAG 2.1 AA and of good practice that axe-core finds in the page as it is."""
        self.run(f"{(files('axe_core_python') / 'axe.min.js').read_text()}; return null")
        result: list[str] = self.run(
            "const found = await axe.run(); return found.violations.flatMap((rule) =>"
            " rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)}`))"
        )
        return result

    def errors(self) -> list[str]:
        """Errors in the console since the last call; what the page's policy refused to fetch is among them."""
        entries = self._call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def close(self) -> None:
        """End the browser."""
        self._call("DELETE", "")


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser for as long as it is needed; chromedriver gives it an empty profile, and removes it."""
    assert DRIVER
    driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert driver.stdout
    with driver.stdout as output:
        try:
            port = next(int(line.rpartition(" ")[2].rstrip(".\n")) for line in output if "successfully on port" in line)
            result = Browser(port)
            try:
                yield result
            finally:
                result.close()
        finally:
            driver.terminate()
            driver.wait(10)
