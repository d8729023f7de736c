# SPDX-License-Identifier: GPL-2.0-or-later
"""Who gets alerts in the tests: an HTTP server, a mail server and Debian's Alertmanager, each on a loopback port.

Run as a program, for the guest: receivers.py FOLDER STATUS opens the three and writes what they know to the file STATUS,
anew whenever it has changed, until it is ended."""

import contextlib
import email
import email.policy
import http.server
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

from harness import Skip, run, wait_for

TRUSTED = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
ALERTMANAGER = "prometheus-alertmanager"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Certificate:
    """For 127.0.0.1, signed by nobody but itself; bundle: what trusts it beside all that the machine trusts."""

    def __init__(self, folder):
        self.cert, self.key, self.bundle = folder / "cert.pem", folder / "key.pem", folder / "bundle.pem"
        if not shutil.which("openssl") or not TRUSTED.exists():
            raise Skip("no openssl or no ca-certificates")
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(self.key), "-out", str(self.cert))
        self.bundle.write_bytes(TRUSTED.read_bytes() + self.cert.read_bytes())

    def trust(self):
        """What runs a command in which the machine trusts it."""
        return ("unshare", "--mount", "sh", "-c", f'mount --bind "{self.bundle}" "{TRUSTED}" && exec "$@"', "sh")


class Webhook:
    """Keeps every request; answers with status, or (None) never; by https with a certificate."""

    def __init__(self, port=0, status=200, certificate=None):
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
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.cert, certificate.key)
            # The handshake by the thread of the connection: one that fails stops no other.
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
            self.url = self.url.replace("http:", "https:")
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

    def __init__(self, folder, seconds=20, options=()):
        """options: further ones of aiosmtpd."""
        self.seconds = seconds  # for its start
        python = "/usr/bin/python3"
        if subprocess.run([python, "-c", "import aiosmtpd"], capture_output=True, check=False).returncode:
            raise Skip("python3-aiosmtpd is not installed")
        self.port, self.maildir = free_port(), folder / "mail"
        command = [python, "-m", "aiosmtpd", "-n", "-l", f"127.0.0.1:{self.port}", *options,
                   "-c", "aiosmtpd.handlers.Mailbox", str(self.maildir)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        wait_for(self.is_listening, self.seconds, "the mail server")
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

    def __init__(self, folder, seconds=20):
        self.seconds = seconds  # for its start
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
        wait_for(self.is_ready, self.seconds, "Alertmanager")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Receivers:
    """The three, as sections of the configuration, and what they know by now."""

    def __init__(self, stack, folder, seconds=20):
        self.hook = stack.enter_context(Webhook())
        self.mail = stack.enter_context(MailServer(folder, seconds))
        self.manager = stack.enter_context(Alertmanager(folder, seconds))
        self.sections = (
            f'notify "ops" {{ webhook = "{self.hook.url}" mail-to = "ops@example.org" '
            f'smtp = "127.0.0.1:{self.mail.port}" }}\n'
            f'notify "am" {{ webhook = "{self.manager.url}" format = "alertmanager-api" }}')

    def known(self):
        return {"hook": [{"status": alert["status"], **alert["labels"]}
                         for message in self.hook.messages() for alert in message["alerts"]],
                "mails": [mail["Subject"] for mail in self.mail.mails()],
                "active": [alert["labels"] for alert in self.manager.alerts()]}


def told(known, drive, alert):
    """What each receiver knows of an alert of a drive: (statuses at the webhook, subjects of mails, how often it is active
    in the Alertmanager)."""
    def is_it(labels):
        return (labels["drive"], labels["alertname"]) == (drive, alert)

    return ([labels["status"] for labels in known["hook"] if is_it(labels)],
            [subject for subject in known["mails"] if drive in subject],
            len([labels for labels in known["active"] if is_it(labels)]))


def serve(folder, status):
    with contextlib.ExitStack() as stack:
        receivers = Receivers(stack, folder, 120)
        written = None
        while True:
            text = json.dumps({"sections": receivers.sections, **receivers.known()})
            if text != written:
                whole = status.with_name(f"{status.name}.new")
                whole.write_text(text)
                whole.rename(status)
                written = text
            time.sleep(0.2)


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
