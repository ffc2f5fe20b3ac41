"""What a build takes from this machine so that package managers inside it work as they do outside: and leaves behind.

Proxies, certificate authorities and package indexes differ from machine to machine, so nothing about them is written
here. Variables whose names are in PASSED reach the build's commands but are not kept in the image; a variable that
names a file or folder of this machine brings it along, read-only, at the same path.
"""

import fnmatch
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from local_cluster import cache, processes
from local_cluster.packages import SEARCH_PATH, program

PASSED = (
    "*_PROXY",
    "*_proxy",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_*",
    "UV_INDEX*",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_HTTP_TIMEOUT",
    "UV_INSECURE_HOST",
    "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS",
    "UV_CONFIG_FILE",
)
# These say where to write, and a build writes in its own image.
NOT_PASSED = ("PIP_CACHE_DIR", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV", "PIP_LOG")
# Settings that package managers read from a fixed place.
SETTINGS_FILES = ("/etc/pip.conf", "/etc/uv/uv.toml", "/etc/ssl/certs/ca-certificates.crt")
# apt's settings for reaching a mirror; the others belong to the machine.
APT_SETTINGS = ("Acquire::http*", "Acquire::Check-*", "Acquire::Retries*", "Acquire::Proxy*")


def variables() -> dict[str, str]:
    """The environment of buildah and mmdebstrap themselves; buildah reads what it passes on from `CONTAINERS_CONF`."""
    config = _folder() / "containers.conf"
    config.write_text(containers_conf(passed(os.environ)))
    return os.environ | {"CONTAINERS_CONF": str(config), "PATH": SEARCH_PATH}


def passed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that builds get to see."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name not in NOT_PASSED and any(fnmatch.fnmatchcase(name, pattern) for pattern in PASSED)
    }


def containers_conf(environment: Mapping[str, str]) -> str:
    """buildah's configuration. Variables set here are seen by RUN commands and not stored in the image."""
    pairs = ", ".join(json.dumps(f"{name}={value}") for name, value in environment.items())
    return f"[containers]\nenv = [{pairs}]\n"


def volume_flags() -> list[str]:
    """Read-only mounts of this machine's settings, and one shared cache so that no build downloads a package twice."""
    named = [value for value in passed(os.environ).values() if value.startswith("/")]
    found = {path for path in (*SETTINGS_FILES, *named) if Path(path).exists()}
    downloads = _folder() / "downloads"
    downloads.mkdir(exist_ok=True)
    mounts = [f"{Path(path).resolve()}:{path}:ro" for path in sorted(found)] + [f"{downloads}:/root/.cache:rw"]
    apt = _folder() / "apt.conf"
    apt.write_text(apt_settings())
    mounts.append(f"{apt}:/etc/apt/apt.conf.d/90-build-machine:ro")
    return [flag for mount in mounts for flag in ("--volume", mount)]


def mmdebstrap_flags(folder: Path) -> list[str]:
    """This machine's apt settings for the making of the base image, and their removal from the result."""
    settings = folder / "apt.conf"
    settings.write_text(apt_settings())
    return [f"--aptopt={settings}", "--customize-hook=rm -f $1/etc/apt/apt.conf.d/99mmdebstrap"]


def apt_settings() -> str:
    """How this machine's apt reaches its mirror."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    lines = [line for line in dump.splitlines() if any(fnmatch.fnmatch(line.split()[0], p) for p in APT_SETTINGS)]
    return "".join(f"{line}\n" for line in lines if not line.endswith(' "";'))


def debian_sources() -> list[Path]:
    """The machine's own list of Debian mirrors, if it has the usual one; otherwise mmdebstrap's default serves."""
    candidates = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
    found = [file for file in candidates if file.exists() and "bookworm" in file.read_text()]
    return found[:1]


def buildah() -> list[str]:
    """buildah with a store of its own. The run folder belongs to one boot: it counts mounts that a restart forgets."""
    store = _folder() / "store"
    run = _folder() / f"run-{processes.boot()[:8]}"
    return [program("buildah"), "--storage-driver", "overlay", "--root", str(store), "--runroot", str(run)]


def _folder() -> Path:
    folder = cache.root() / "images" / "builder"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
