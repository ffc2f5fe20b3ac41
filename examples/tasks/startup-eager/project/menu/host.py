"""`host URL`: the host that it names."""

import http.client
from urllib.parse import urlsplit

SECURE = http.client.HTTPS_PORT


def run(arguments: list[str]) -> str:
    return urlsplit(arguments[0]).hostname or ""
