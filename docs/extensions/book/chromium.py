"""Chromium without a window: pages as PDF.

One process prints many pages. It is driven by its own protocol (DevTools) through a pair of pipes:
messages in JSON, each with a zero byte at its end. A page's scripts have run before it is printed.
Run as a program, it prints which Chromium is driven.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# The first has no windows. It begins in a third of the time that chromium takes, and
# tests/book/browser takes a fifth less with it.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--allow-file-access-from-files",
)


class Missing(Exception):
    """There is no Chromium on this machine."""


class Failed(Exception):
    """Chromium ended, or it refused what was requested."""


def find():
    """The program: CHROMIUM, or one of the names in PATH."""
    for name in (os.environ.get("CHROMIUM"), *NAMES):
        program = name and shutil.which(name)
        if program:
            return program
    raise Missing(
        "Chromium was not found. Install it (apt-get install chromium), or name it in CHROMIUM."
    )


class Browser:
    def __init__(self):
        self.program = find()
        self.number = 0
        self.rest = b""
        self.events = []

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        from_us, self.out = os.pipe()
        self.into, from_it = os.pipe()
        # The protocol is at the descriptors 3 and 4 of the program. A shell puts them there.
        command = [
            "bash", "-c", f'exec 3<&{from_us} 4>&{from_it} "$@"', "chromium", self.program,
            *OPTIONS, f"--user-data-dir={self.profile.name}", "about:blank",
        ]  # fmt: skip
        if os.geteuid() == 0:
            command.insert(5, "--no-sandbox")
        self.process = subprocess.Popen(
            command,
            pass_fds=(from_us, from_it),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(from_it)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self.send("Page.enable")
        return self

    def __exit__(self, *_):
        os.close(self.out)
        os.close(self.into)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 20)
            if not more:
                raise Failed(f"{self.program} ended before it had done what was requested.")
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def send(self, method, **parameters):
        """Calls a method of the protocol and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        try:
            os.write(self.out, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise Failed(f"{self.program} ended before it had done what was requested.") from None
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer.get("method"))

    def evaluate(self, expression):
        """The value of an expression of JavaScript; of a promise, what it comes to."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"]
            raise Failed(thrown.get("exception", thrown).get("description") or thrown["text"])
        return answer["result"].get("value")

    def open(self, page, fragment=""):
        """Opens a file and returns when it has loaded."""
        self.events.clear()
        address = Path(page).resolve().as_uri()
        self.send("Page.navigate", url=f"{address}#{fragment}" if fragment else address)
        while "Page.loadEventFired" not in self.events:
            self.events.append(self.receive().get("method"))

    def print(self, **options):
        """The open page as PDF: bytes."""
        return base64.b64decode(self.send("Page.printToPDF", **options)["data"])


if __name__ == "__main__":
    try:
        print(find())
    except Missing as why:
        sys.exit(str(why))
