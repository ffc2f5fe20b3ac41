"""Where the store is, from the environment, and single requests to it: signed, sent, and answered or refused.

Nothing is retried here and no redirect is followed: only the store knows that a lost answer to a conditional write must
be followed by a look. Buckets are named in the path, since virtual hosts need DNS that an endpoint may lack.
"""

import hashlib
import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection
from urllib3.response import BaseHTTPResponse

from fairtrial.errors import InvalidInput
from fairtrial.evidence import s3_signing, s3_xml
from fairtrial.evidence.layout import Layout

_REQUIRED = ("FAIRTRIAL_S3_ENDPOINT", "FAIRTRIAL_S3_BUCKET", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
CONNECT_SECONDS, READ_SECONDS = 5, 60
CONNECTIONS = 64
_NO_BODY = hashlib.sha256(b"").hexdigest()
_DEFAULT_PORTS = {"http": 80, "https": 443}
_REDIRECTION = 300
_BUNDLES = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")


@dataclass(frozen=True)
class S3Settings:
    """One bucket and how to reach it."""

    endpoint: str
    bucket: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    prefix: str = ""
    region: str = "us-east-1"
    object_lock_days: int = 0

    def __post_init__(self) -> None:
        Layout(self.prefix)  # refuses a bad prefix at the start
        if not self.endpoint.startswith(("http://", "https://")):
            raise InvalidInput(f"FAIRTRIAL_S3_ENDPOINT: {self.endpoint!r} must begin with http:// or https://.")

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "S3Settings":
        """Read the settings, naming every variable that is missing."""
        missing = [name for name in _REQUIRED if not env.get(name)]
        if missing:
            raise InvalidInput(f"environment: {', '.join(missing)} must be set to reach the object store.")
        days = env.get("FAIRTRIAL_S3_OBJECT_LOCK_DAYS") or "0"
        if not days.isdecimal():
            raise InvalidInput(f"FAIRTRIAL_S3_OBJECT_LOCK_DAYS: {days!r} must be a whole number of days; 0 is none.")
        return cls(
            endpoint=env["FAIRTRIAL_S3_ENDPOINT"],
            bucket=env["FAIRTRIAL_S3_BUCKET"],
            access_key=env["AWS_ACCESS_KEY_ID"],
            secret_key=env["AWS_SECRET_ACCESS_KEY"],
            session_token=env.get("AWS_SESSION_TOKEN") or None,
            prefix=env.get("FAIRTRIAL_S3_PREFIX", ""),
            region=env.get("FAIRTRIAL_S3_REGION") or "us-east-1",
            object_lock_days=int(days),
        )


class S3Client:
    """Requests to one bucket, over connections that are kept. Safe to use from many threads."""

    def __init__(self, settings: S3Settings) -> None:
        self._settings = settings
        url = urlsplit(settings.endpoint)
        self._host = _host(settings.endpoint)
        self._bucket = f"{url.path.rstrip('/')}/{quote(settings.bucket, safe='')}"
        self._manager, self._open, self._base = _connections(f"{url.scheme}://{url.netloc}")

    def send(
        self,
        method: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | bytearray | None = None,
        sha256: str | None = None,
    ) -> BaseHTTPResponse:
        """The answer, its body not read yet; `Refused` unless its status is 2xx, or an error of urllib3.

        Names of headers are in lower case. `sha256` is the body's, where it is known already.
        """
        path = f"{self._bucket}/{quote(key)}" if key else self._bucket
        asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in sorted((query or {}).items()))
        signed = self._signed(method, path, asked, headers or {}, _sha256(body) if sha256 is None else sha256)
        url = f"{self._base}{path}?{asked}" if asked else self._base + path
        answer: BaseHTTPResponse = self._open(
            method, url, body=body, headers=signed, redirect=False, retries=False, preload_content=False
        )
        if answer.status >= _REDIRECTION:
            raise s3_xml.refusal(answer.status, answer.read(decode_content=False))
        return answer

    def ask(self, method: str, key: str = "", query: Mapping[str, str] | None = None, **more: Any) -> BaseHTTPResponse:
        """The answer with its body, which is small: `.data`."""
        answer = self.send(method, key, query, **more)
        answer.read(decode_content=False, cache_content=True)
        return answer

    def close(self) -> None:
        """Close idle connections."""
        self._manager.clear()

    def _signed(self, method: str, path: str, query: str, more: Mapping[str, str], sha256: str) -> dict[str, str]:
        settings = self._settings
        headers = {
            "host": self._host,
            "x-amz-date": datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
            "x-amz-content-sha256": sha256,
            **more,
        }
        if settings.session_token:
            headers["x-amz-security-token"] = settings.session_token
        request = s3_signing.Request(method, path, query, headers, sha256)
        headers["authorization"] = s3_signing.authorization(
            request, settings.access_key, settings.secret_key, settings.region
        )
        headers["user-agent"] = "fairtrial"  # not signed: proxies may change it
        return headers


def _sha256(body: bytes | bytearray | None) -> str:
    return hashlib.sha256(body).hexdigest() if body else _NO_BODY


def _host(endpoint: str) -> str:
    """The Host header, which is signed: without a port where it is the scheme's own."""
    url = urlsplit(endpoint)
    host = url.netloc.rpartition("@")[2]
    return host.removesuffix(f":{url.port}") if url.port == _DEFAULT_PORTS[url.scheme] else host


def _connections(origin: str) -> tuple[urllib3.PoolManager, Any, str]:
    """What keeps connections, what sends over them, and what a path follows there.

    Straight to the store one pool is asked, which spares a quarter of a small request's time.
    """
    options: dict[str, Any] = {
        "maxsize": CONNECTIONS,
        "timeout": urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
        "socket_options": [*HTTPConnection.default_socket_options, (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
    }
    url = urlsplit(origin)
    if url.scheme == "https":
        options["ssl_context"] = _authorities(os.environ)
    proxy = None if proxy_bypass(url.hostname or "") else getproxies().get(url.scheme)
    if proxy is None:
        manager = urllib3.PoolManager(**options)
        return manager, manager.connection_from_url(origin).urlopen, ""
    user = urlsplit(proxy)
    login = f"{unquote(user.username)}:{unquote(user.password or '')}" if user.username else None
    through = urllib3.ProxyManager(proxy, proxy_headers=urllib3.make_headers(proxy_basic_auth=login), **options)
    return through, through.urlopen, origin


def _authorities(env: Mapping[str, str]) -> ssl.SSLContext:
    """Whom to believe: the bundle that is named, else the system's, made once, since reading them takes long."""
    name = next((name for name in _BUNDLES if env.get(name)), None)
    try:
        return ssl.create_default_context(cafile=env[name] if name else None)
    except OSError as error:
        raise InvalidInput(f"{name}: {env[name or '']}: can't be read as certificates: {error}.") from error
