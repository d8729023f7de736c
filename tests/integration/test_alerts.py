#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""From a rule that is bad to a message that has reached somebody: the real service, a webhook, a program, a mail server
and an Alertmanager; receivers that are down, deaf or come back, and kills in between.

The bad rule is a drive that is not there. The service of these tests differs from the installed one in its pauses: 0.2 s
before the second try, 2 s for a request, an Alertmanager told every second."""

import contextlib
import json
import os
import stat
import subprocess
import time

from harness import BUILD, CLIENT, Service, Skip, assert_stamps_grow_on_the_interval, main, wait_for, work_folder
from receivers import Alertmanager, Certificate, Deaf, MailServer, Webhook, free_port

LABEL = 'q"\' \\ \u00e9 <b>'


class AlertService(Service):
    """A drive that soaks a directory, and one, "gone", whose device is not there."""

    daemon = str(BUILD / "tests/integration/drivesoakd-brief")

    def __init__(self, folder, notify, alerts='digest = "2s"', **keys):
        target = folder / "target"
        target.mkdir(exist_ok=True)
        quoted = LABEL.replace("\\", "\\\\").replace('"', '\\"')
        self.missing = f"/dev/disk/by-id/drivesoak-test-{os.getpid()}"
        super().__init__(folder, target, size="16MiB", files=2, threads=1, queue_depth=2, rate="4MiB",
                         discard=False, top=f"alerts {{ {alerts} }}\n{notify}\n"
                         f'drive "gone" {{\n device = "{self.missing}"\n serial = "NONE"\n label = "{quoted}"\n'
                         ' size = "16MiB"\n}\n', **keys)

    def client(self, *arguments):
        return subprocess.run([CLIENT, *arguments, "-c", str(self.config)], capture_output=True, text=True, timeout=120,
                              check=False)

    def alerts_of(self, name="gone"):
        return [alert["alert"] for alert in self.api("alerts")["firing"] if alert["drive"] == name]

    def channel(self, name, kind):
        return next(channel for channel in self.api("alerts")["channels"]
                    if (channel["name"], channel["kind"]) == (name, kind))

    def wait_channel(self, name, kind, condition, seconds, what):
        try:
            return wait_for(lambda: condition(self.channel(name, kind)), seconds, what)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.channel(name, kind)}\n{self.log()}") from error

    def delivery_events(self):
        return [event["text"] for event in reversed(self.events()) if event["kind"] == "delivery"]


def make_program(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_an_alert_reaches_every_channel():
    """Webhook, program, mail; and what the API, the page, the status and the client say of it."""
    with work_folder() as folder, Webhook() as hook, MailServer(folder) as mail_server:
        program = make_program(folder, "page", f'env >>{folder}/env; cat >>{folder}/stdin')
        notify = (f'notify "ops" {{ command = {{ "{program}", "--from", "drivesoak" }} smartd-compat = true '
                  f'webhook = "{hook.url}" mail-to = "ops@example.org" smtp = "127.0.0.1:{mail_server.port}" '
                  f'ping = "http://127.0.0.1:{hook.port}/ping" ping-interval = "10s" }}')
        with AlertService(folder, notify) as service:
            started = time.time()
            service.start()
            wait_for(lambda: hook.alerts(), 20, "the webhook")
            assert time.time() - started < 15
            message = hook.messages()[0]
            assert message["version"] == "4" and message["receiver"] == "ops", message
            alert = message["alerts"][0]
            assert alert["status"] == "firing" and alert["labels"]["drive"] == "gone", alert
            assert alert["labels"]["alertname"] in ("DrivesoakDriveMissing", "DrivesoakDriveFailed"), alert
            assert alert["annotations"]["label"] == LABEL, alert
            rule = alert["annotations"]["alert"]
            mail = wait_for(mail_server.mails, 10, "the mail")[0]
            assert mail["X-RcptTo"] == "ops@example.org", mail.items()
            assert "gone" in mail["Subject"] and rule in mail["Subject"], mail["Subject"]
            assert alert["annotations"]["message_id"] in mail["Message-ID"]
            assert alert["annotations"]["summary"] in mail.get_content() and LABEL in mail.get_content()
            wait_for(lambda: (folder / "stdin").exists() and "message" in (folder / "stdin").read_text(), 10, "the program")
            environment = (folder / "env").read_text()
            for line in (f"DRIVESOAK_ALERT={rule}", "DRIVESOAK_DRIVE=gone", "DRIVESOAK_STATUS=firing", f"DRIVESOAK_LABEL={LABEL}",
                         f"DRIVESOAK_MESSAGE_ID={alert['annotations']['message_id']}", "SMARTD_FAILTYPE="):
                assert line in environment, environment
            firing = service.api("alerts")["firing"]
            assert [a["alert"] for a in firing if a["drive"] == "gone"] == [rule], firing
            assert firing[0]["since_s"] >= int(started) and firing[0]["muted_until_s"] is None
            status = next(d for d in service.api("status")["drives"] if d["name"] == "gone")
            assert [a["alert"] for a in status["alerts"]] == [rule], status
            code, page = service.get("/alerts")
            assert code == 200 and rule in page.decode() and "ops" in page.decode()
            service.wait_channel("ops", "webhook", lambda c: c["queued"] == 0 and c["result"] == "HTTP 200", 10, "it")
            listed = json.loads(service.client("alerts", "--json").stdout)
            assert [a["alert"] for a in listed["firing"]] == [rule], listed
            assert listed["history"] == service.api("alerts")["history"] != [], listed
            assert rule in service.client("alerts").stdout
            wait_for(lambda: [r for r in hook.requests if r[1] == "/ping"], 10, "the ping")
            events = [e for e in service.events() if e["kind"] == "alert"]
            assert len(events) == 1 and events[0]["drive"] == "gone", events
            test = service.client("alert-test")
            assert test.returncode == 0, test
            assert test.stdout.count("delivered") == 4 and "NOT" not in test.stdout, test.stdout
            assert hook.messages()[-1]["alerts"][0]["labels"]["alertname"] == "DrivesoakTest"
            assert service.stop() == 0
        # Once on each, and the test.
        assert len([a for a in hook.alerts() if a[0] != "DrivesoakTest"]) == 1, hook.alerts()
        assert len(mail_server.mails()) == 2, [m["Subject"] for m in mail_server.mails()]


def test_what_fires_is_shown_before_the_first_tick():
    """Five minutes between two ticks, and a start: nobody is told meanwhile that nothing is wrong."""
    with work_folder() as folder, Webhook() as hook:
        with AlertService(folder, f'notify "ops" {{ webhook = "{hook.url}" }}') as service:
            service.start()
            wait_for(lambda: hook.alerts(), 20, "the webhook")
            before = service.alerts_of()
            assert len(before) == 1 and service.stop() == 0, before
            text = service.config.read_text()
            service.config.write_text(text.replace('sample-interval = "1s"', 'sample-interval = "5min"'))
            assert service.config.read_text() != text
            service.start()
            # The web server is there a moment before what was told is.
            wait_for(lambda: service.alerts_of() == before, 10, "what fires")
            code, page = service.get("/alerts")
            assert code == 200 and before[0] in page.decode() and "Nothing is wrong" not in page.decode()
            service.kill()


def test_a_receiver_that_is_down_gets_all_of_it_later():
    """Down across a kill -9; back: each message once under its id, in order, and two events, not one a retry."""
    with work_folder() as folder:
        port = free_port()
        notify = f'notify "ops" {{ webhook = "http://127.0.0.1:{port}/hook" }}'
        with AlertService(folder, notify) as service:
            service.start()
            wait_for(service.alerts_of, 20, "the alert")
            service.wait_channel("ops", "webhook", lambda c: c["failing"] and c["queued"] == 1, 10, "a failure")
            assert "refused" in service.channel("ops", "webhook")["result"] or \
                "connect" in service.channel("ops", "webhook")["result"].lower()
            muted = service.client("mute", "gone", "1h")
            assert muted.returncode == 0 and "muted until" in muted.stdout, muted
            service.kill()
            service.start()
            wait_for(service.alerts_of, 20, "the alert after the kill")
            firing = service.api("alerts")["firing"]
            listed = json.loads(service.client("alerts", "--json").stdout)
            assert listed["history"] == service.api("alerts")["history"] != [], listed
            assert firing[0]["muted_until_s"] > time.time() + 3000, firing
            service.wait_channel("ops", "webhook", lambda c: c["failing"] and c["queued"] == 1, 10, "still one")
            failures = [text for text in service.delivery_events() if "can't deliver" in text]
            assert len(failures) == 1, failures
            test = service.client("alert-test", "ops")
            assert test.returncode == 1 and "NOT delivered" in test.stdout, test
            assert service.client("alert-test", "nobody").returncode == 66
            with Webhook(port) as hook:
                service.wait_channel("ops", "webhook", lambda c: c["queued"] == 0, 15, "the delivery")
                time.sleep(2.5)
                alerts = hook.alerts()
                assert len(alerts) == 1 and alerts[0][1] == "firing", alerts
            assert [t for t in service.delivery_events() if "delivers again" in t], service.delivery_events()
            assert service.stop() == 0


def test_a_deaf_receiver_holds_neither_samples_nor_channels():
    """One that accepts and never answers, and a program that does not end."""
    with work_folder() as folder, Deaf() as deaf, Webhook() as hook:
        program = make_program(folder, "hang", "sleep 600")
        notify = (f'notify "deaf" {{ webhook = "{deaf.url}" command = {{ "{program}" }} }}\n'
                  f'notify "ops" {{ webhook = "{hook.url}" }}')
        with AlertService(folder, notify) as service:
            service.start()
            begun = time.time()
            wait_for(hook.alerts, 20, "the other channel")
            assert time.time() - begun < 10
            service.wait_channel("deaf", "webhook", lambda c: c["failing"], 20, "the deadline")
            assert "timed out" in service.channel("deaf", "webhook")["result"]
            run = next(r["id"] for r in service.runs() if r["drive"] == service.name)
            samples = wait_for(lambda: (lambda s: s if len(s) >= 8 else None)(service.samples(run)), 20, "samples")
            assert_stamps_grow_on_the_interval(samples, 1)
            stamps = [sample["t_s"] for sample in samples]
            assert stamps == list(range(int(stamps[0]), int(stamps[0]) + len(stamps))), stamps
            assert service.stop() == 0


def test_what_is_told_by_tls_is_told_to_nobody_else():
    """A certificate that the machine does not trust: no https, no smtps, and nothing in plain text instead; STARTTLS without
    a password is as good as it gets. The same certificate, trusted: all of it."""
    if os.geteuid() != 0:
        raise Skip("needs root for a mount of its own")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(work_folder())
        certificate = Certificate(folder)
        key = [str(certificate.cert), str(certificate.key)]
        hook = stack.enter_context(Webhook(certificate=certificate))
        mails = {}
        for name in ("smtps", "starttls"):
            (folder / name).mkdir()
            kind = "smtps" if name == "smtps" else "tls"
            options = (f"--{kind}cert", key[0], f"--{kind}key", key[1])
            mails[name] = stack.enter_context(MailServer(folder / name, options=options))
        notify = (f'notify "ops" {{ webhook = "{hook.url}" mail-to = "ops@example.org" '
                  f'smtp = "smtps://127.0.0.1:{mails["smtps"].port}" }}\n'
                  f'notify "mta" {{ mail-to = "ops@example.org" smtp = "127.0.0.1:{mails["starttls"].port}" }}')
        service = stack.enter_context(AlertService(folder, notify))
        service.start()
        wait_for(lambda: all(c["name"] for c in service.api("alerts")["channels"]), 20, "the channels")
        for kind in ("webhook", "mail"):
            service.wait_channel("ops", kind, lambda c: c["failing"] and "certificate" in c["result"].lower(), 20, "a refusal")
        wait_for(mails["starttls"].mails, 20, "the mail by STARTTLS")
        assert hook.requests == [] and mails["smtps"].mails() == []
        assert service.stop() == 0
        service.wrapper = list(certificate.trust())
        service.start()
        wait_for(hook.alerts, 20, "the webhook by https")
        wait_for(mails["smtps"].mails, 20, "the mail by smtps")
        assert service.stop() == 0
        assert len(hook.alerts()) == len(mails["smtps"].mails()) == len(mails["starttls"].mails()) == 1


def test_alertmanager_sees_it_active_and_then_resolved():
    with work_folder() as folder, Alertmanager(folder) as manager:
        notify = f'notify "am" {{ webhook = "{manager.url}" format = "alertmanager-api" }}'
        with AlertService(folder, notify) as service:
            service.start()
            active = wait_for(manager.alerts, 20, "the alert there")
            assert len(active) == 1 and active[0]["labels"]["drive"] == "gone", active
            assert active[0]["status"]["state"] == "active"
            # It stays, since it is told again and again: the first end would have been after 5 s.
            time.sleep(6)
            assert len(manager.alerts()) == 1
            # The drive leaves the configuration: that ends its alerts.
            config = service.config.read_text()
            begin = config.index('drive "gone"')
            end = config.index("}", begin) + 1
            assert service.stop() == 0
            service.config.write_text(config[:begin] + config[end:])
            service.start()
            wait_for(lambda: not manager.alerts(), 20, "its end there")
            history = service.api("alerts")["history"]
            assert history[0]["drive"] == "gone" and history[0]["until_s"] is not None, history
            assert service.api("alerts")["firing"] == []
            assert service.stop() == 0


if __name__ == "__main__":
    main(globals())
