"""A Python that remembers: its sandbox has a name, sleeps between uses, and wakes up with all its variables.

Usage: notebook.py <code>, or notebook.py --forget.
"""

import sys
import time

from atoll import Checkpoint, Sandbox

NAME = "notebook"
PORT = 8888
# What a preview answers while nothing listens.
BAD_GATEWAY = 502

# Runs inside. What it is sent it executes, always with the same variables.
SERVER = """
import contextlib, http.server, io, traceback

variables = {}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        code = self.rfile.read(int(self.headers["Content-Length"])).decode()
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            try:
                exec(code, variables)
            except Exception:
                print(traceback.format_exc())
        self.send_response(200)
        self.end_headers()
        self.wfile.write(output.getvalue().encode())

    def log_message(self, *args):
        pass

http.server.HTTPServer(("127.0.0.1", 8888), Handler).serve_forever()
"""


def run(sandbox: Sandbox, code: str) -> str:
    """Has the Python inside run some code. A server that was just started takes a moment to listen."""
    for _ in range(60):
        answer = sandbox.fetch(PORT, "/", method="POST", content=code)
        if answer.status_code != BAD_GATEWAY:
            return answer.text
        time.sleep(0.5)
    raise SystemExit(f"the Python inside does not answer: {answer.text}")


def main(argument: str) -> None:
    """Wakes the notebook up, uses it, and puts it to sleep."""
    sandbox = Sandbox.get_or_create(name=NAME, egress={"mode": "deny_all"})
    if argument == "--forget":
        sandbox.stop(keep=False)
        # Each time it woke up left one. SERVICE_HISTORY_KEEP_LAST of the daemon limits how many.
        for checkpoint in Checkpoint.list():
            if checkpoint.name == NAME:
                checkpoint.delete()
        print("forgotten")
        return
    if sandbox.created:
        sandbox.files.write("/root/notebook.py", SERVER)
        sandbox.spawn("python3", ["/root/notebook.py"])
    print("made a new sandbox" if sandbox.created else "woke up")
    print(run(sandbox, argument), end="")
    sandbox.stop()


main(sys.argv[1])
