"""A headless Chromium, driven through the pipe of its own DevTools protocol: no further library is needed."""

import base64
import io
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # root, and containers without user namespaces
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--mute-audio",
    "--force-color-profile=srgb",
)


def find_chromium():
    """The browser's path, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser process with one page; everything that the page logs or requests is kept."""

    def __init__(self, width=1100, height=720, patience=60):
        self.patience = patience
        self.profile = tempfile.mkdtemp(prefix="heatfield-chromium-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The protocol lives on descriptors 3 and 4; a shell puts ours there.
        start = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        words = [*FLAGS, f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", start, find_chromium(), *words],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._pending, self._number, self.events = b"", 0, []
        self._session = None
        target = next(t for t in self._targets() if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def _targets(self):
        until = time.monotonic() + self.patience
        while time.monotonic() < until:
            found = self.call("Target.getTargets")["targetInfos"]
            if any(t["type"] == "page" for t in found):
                return found
            time.sleep(0.05)
        raise TimeoutError("Chromium opened no page")

    def _message(self, until):
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            data = os.read(self._read, 1 << 20)
            if not data:
                raise RuntimeError("Chromium ended")
            self._pending += data
        one, _, self._pending = self._pending.partition(b"\0")
        return json.loads(one)

    def call(self, method, **parameters):
        """Send a command and wait for its answer; events that come meanwhile are kept."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.patience
        while (answer := self._message(until)) is not None:
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)
        raise TimeoutError(f"{method} had no answer in {self.patience} s")

    def open(self, path):
        """Load a file and wait until its script says that it is ready."""
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete'")

    def evaluate(self, expression):
        """The value of an expression of JavaScript in the page; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression):
        """Until the expression is true."""
        until = time.monotonic() + self.patience
        while time.monotonic() < until:
            if self.evaluate(f"Boolean({expression})"):
                return
            time.sleep(0.03)
        raise TimeoutError(f"{expression} did not become true in {self.patience} s")

    def frames(self, count=2):
        """Let the page draw."""
        step = "new Promise((done) => requestAnimationFrame(done))"
        for _ in range(count):
            self.evaluate(step)

    def resize(self, width, height, mobile=False):
        """Size of the window's content."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=mobile,
        )  # fmt: skip

    def screenshot(self, path=None):
        """What is seen, as an array (height, width, 3)."""
        from PIL import Image

        self.frames()
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)

    def mouse(self, kind, x, y, **more):
        """mousePressed, mouseReleased, mouseMoved or mouseWheel at a place in the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        """Press and release the left button."""
        self.mouse("mouseMoved", x, y)
        for kind, buttons in (("mousePressed", 1), ("mouseReleased", 0)):
            self.mouse(kind, x, y, button="left", buttons=buttons, clickCount=1)

    def key(self, key):
        """Press and release a key; a single character is also typed."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def problems(self):
        """Errors and warnings of the console, and exceptions."""
        self.evaluate("1")  # events that are on their way
        found = []
        for event in self.events:
            what = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(what["exceptionDetails"].get("exception", what["exceptionDetails"]))
            elif event["method"] == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning"):
                found.append(what["args"])
            elif event["method"] == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                found.append(what["entry"])
        return found

    def requests(self):
        """Addresses that the page asked for, data: ones left out."""
        self.evaluate("1")
        urls = [
            e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith("data:")]

    def close(self):
        """End the browser and forget its profile."""
        os.close(self._write)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(5)
        os.close(self._read)
        shutil.rmtree(self.profile, ignore_errors=True)
