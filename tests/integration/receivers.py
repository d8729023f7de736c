# SPDX-License-Identifier: GPL-2.0-or-later
"""Who gets alerts in the tests: an HTTP server, a mail server and Debian's Alertmanager, each on a loopback port."""

import email
import email.policy
import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

from harness import Skip, wait_for

ALERTMANAGER = "prometheus-alertmanager"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Webhook:
    """Keeps every request; answers with status, or (None) never."""

    def __init__(self, port=0, status=200):
        self.requests, self.status = [], status
        self.release = threading.Event()
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if sink.status is None:
                    sink.release.wait(60)
                    return
                sink.requests.append((self.command, self.path, dict(self.headers), body, time.time()))
                self.send_response(sink.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def messages(self):
        """The posted bodies, read."""
        return [json.loads(body) for command, _, _, body, _ in self.requests if command == "POST"]

    def alerts(self):
        """(alertname, status, message id) of each alert in each message."""
        return [(alert["labels"]["alertname"], alert["status"], alert["annotations"]["message_id"])
                for message in self.messages() for alert in message["alerts"]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


class Deaf:
    """Accepts and never answers."""

    def __enter__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(64)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/hook"
        return self

    def __exit__(self, *_):
        self.socket.close()


class MailServer:
    """Debian's aiosmtpd, which keeps what it gets in a Maildir and puts the envelope into X-RcptTo; by Debian's Python,
    whatever Python runs the tests."""

    def __init__(self, folder):
        python = "/usr/bin/python3"
        if subprocess.run([python, "-c", "import aiosmtpd"], capture_output=True, check=False).returncode:
            raise Skip("python3-aiosmtpd is not installed")
        self.port, self.maildir = free_port(), folder / "mail"
        command = [python, "-m", "aiosmtpd", "-n", "-l", f"127.0.0.1:{self.port}", "-c", "aiosmtpd.handlers.Mailbox",
                   str(self.maildir)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        wait_for(self.is_listening, 20, "the mail server")
        return self

    def is_listening(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def mails(self):
        """In the order in which they came."""
        files = sorted((self.maildir / "new").glob("*"), key=lambda file: file.stat().st_mtime_ns)
        return [email.message_from_bytes(file.read_bytes(), policy=email.policy.default) for file in files]

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Alertmanager:
    """Debian's, with one receiver that nobody listens at."""

    def __init__(self, folder):
        program = shutil.which(ALERTMANAGER)
        if not program or not pathlib.Path("/usr/share/prometheus/alertmanager/default.tmpl").exists():
            raise Skip(f"{ALERTMANAGER} is not installed")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = folder / "alertmanager.yml"
        config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
        with open(folder / "alertmanager.log", "wb") as log:
            self.process = subprocess.Popen(
                [program, f"--config.file={config}", f"--storage.path={folder}/alertmanager",
                 f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def alerts(self, active="true"):
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts?active={active}", timeout=5) as answer:
            return json.loads(answer.read())

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def __enter__(self):
        wait_for(self.is_ready, 20, "Alertmanager")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
