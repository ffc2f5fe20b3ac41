"""The settings that were asked for, and only those."""

import configparser
import pathlib

FILE = pathlib.Path("service.ini")
BEFORE = """\
; Settings of the service. Comments start with a semicolon.

[web]
; the load balancer sends its requests here
host = 0.0.0.0
port = 8080
; yes or no
compress = no

[metrics]
host = 127.0.0.1
; kept apart from the web port, see the firewall's rules for 8080
port = 8081
"""


def settings():
    parser = configparser.ConfigParser()
    parser.read_string(FILE.read_text())
    return parser


def test_port():
    assert settings().getint("web", "port") == 9090


def test_compression():
    assert settings().getboolean("web", "compress") is True


def test_metrics_stay():
    assert dict(settings()["metrics"]) == {"host": "127.0.0.1", "port": "8081"}


def test_everything_else_is_as_it_was():
    changed = {"port = 8080", "compress = no"}
    before = [line for line in BEFORE.splitlines() if line not in changed]
    after = FILE.read_text().splitlines()
    assert len(after) == len(BEFORE.splitlines())
    assert [line for line in after if line in before] == before
