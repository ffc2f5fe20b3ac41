"""What a build takes from this machine so that package managers inside it work as they do outside, leaving no trace.

Proxies, certificate authorities and package indexes differ from machine to machine, so nothing about them is written
here. The machine's own settings become files that pip, uv, npm and apt read at fixed places, and these are mounted
read-only during the build: unlike `ENV` and build arguments, a mount is not part of the image. Proxies are passed on by
buildah.
"""

import configparser
import fcntl
import fnmatch
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from local_cluster import cache, processes
from local_cluster.packages import SEARCH_PATH, program

CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
PIP_CONFIG = Path("/etc/pip.conf")
UV_CONFIG = Path("/etc/uv/uv.toml")
NPM_CONFIG = Path("/root/.npmrc")  # npm has no fixed place for a whole machine; a build runs as root
# These say where to write, and a build writes in its own image; or name a file that is mounted elsewhere.
NOT_PASSED = ("PIP_CACHE_DIR", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_LOG", "PIP_CERT", "PIP_CONFIG_FILE")
# npm's settings for reaching a registry, keys among them; npm's variables have the same names.
NPM_SETTINGS = ("registry", "@*:registry", "//*", "proxy", "https-proxy", "noproxy", "strict-ssl", "ca")
# apt's settings for reaching a mirror; the others belong to the machine.
APT_SETTINGS = ("Acquire::http*", "Acquire::Check-*", "Acquire::Retries*")


def variables() -> dict[str, str]:
    """The environment of buildah and mmdebstrap themselves."""
    return os.environ | {"PATH": SEARCH_PATH}


def volume_flags() -> list[str]:
    """The mounts of a build: settings, read-only, and one shared cache so that no build downloads a package twice."""
    mounts = []
    for place, text in settings(os.environ).items():
        source = folder() / place.name
        source.write_text(text)
        mounts.append(f"{source}:{place}:ro")
    bundle = ca_bundle(os.environ)
    if bundle.exists():
        mounts.append(f"{bundle.resolve()}:{CA_BUNDLE}:ro")
    mounts += [f"{place}:{place}:ro" for place in local_folders(os.environ)]
    downloads = folder() / "downloads"
    downloads.mkdir(exist_ok=True)
    mounts.append(f"{downloads}:/root/.cache:rw")
    return [flag for mount in mounts for flag in ("--volume", mount)]


def settings(environment: Mapping[str, str]) -> dict[Path, str]:
    """The text of each package manager's settings file inside the build, by where that manager looks for it."""
    return {
        PIP_CONFIG: pip_config(environment),
        UV_CONFIG: uv_config(environment),
        NPM_CONFIG: npm_config(environment),
        Path("/etc/apt/apt.conf.d/90-build-machine"): apt_settings(),
    }


def pip_config(environment: Mapping[str, str]) -> str:
    """The machine's file plus its variables: pip itself defines `PIP_SOME_OPTION` as the option `some-option`."""
    machine = configparser.ConfigParser(interpolation=None)
    machine.read(PIP_CONFIG)
    options = dict(machine["global"]) if machine.has_section("global") else {}
    for name, value in sorted(environment.items()):
        if name.startswith("PIP_") and name not in NOT_PASSED:
            options[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    lines = [f"{name} = {value}" for name, value in (options | {"cert": str(CA_BUNDLE)}).items()]
    return "\n".join(["[global]", *lines, ""])


def uv_config(environment: Mapping[str, str]) -> str:
    """The machine's file if it has one; otherwise its authorities, and the indexes that its variables name."""
    if UV_CONFIG.exists():
        return UV_CONFIG.read_text()
    lines = ["system-certs = true"]
    if links := environment.get("UV_FIND_LINKS") or environment.get("PIP_FIND_LINKS"):
        lines.append(f"find-links = {json.dumps(links.replace(',', ' ').split())}")
    default = environment.get("UV_DEFAULT_INDEX") or environment.get("UV_INDEX_URL")
    more = environment.get("UV_INDEX") or environment.get("UV_EXTRA_INDEX_URL") or ""
    for url in more.split():
        lines += ["[[index]]", f"url = {json.dumps(url)}"]
    if default:
        lines += ["[[index]]", f"url = {json.dumps(default)}", "default = true"]
    return "\n".join([*lines, ""])


def npm_config(environment: Mapping[str, str]) -> str:
    """The user's file plus the variables: npm itself defines `npm_config_some_option` as the option `some-option`."""
    file = Path(environment.get("NPM_CONFIG_USERCONFIG") or Path(environment.get("HOME", "/root")) / ".npmrc")
    lines = file.read_text().splitlines() if file.exists() else []
    options = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    for name, value in sorted(environment.items()):
        if name.lower().startswith("npm_config_"):
            options[name.lower().removeprefix("npm_config_").replace("_", "-")] = value
    kept = {
        name: value for name, value in options.items() if any(fnmatch.fnmatch(name, known) for known in NPM_SETTINGS)
    }
    fixed = {"cafile": str(CA_BUNDLE), "cache": "/root/.cache/npm", "update-notifier": "false"}
    return "".join(f"{name}={value}\n" for name, value in (kept | fixed).items())


def ca_bundle(environment: Mapping[str, str]) -> Path:
    """The authorities that this machine trusts."""
    return Path(environment.get("SSL_CERT_FILE") or CA_BUNDLE)


def local_folders(environment: Mapping[str, str]) -> list[Path]:
    """Folders of packages that pip's or uv's variables name: a build needs them at the same place."""
    named = " ".join(environment.get(name, "") for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS"))
    paths = {Path(word) for word in named.replace(",", " ").split() if word.startswith("/")}
    return sorted(path for path in paths if path.is_dir())


def mmdebstrap_flags(target: Path) -> list[str]:
    """This machine's apt settings for the making of the base image, and their removal from the result."""
    file = target / "apt.conf"
    file.write_text(apt_settings())
    return [f"--aptopt={file}", "--customize-hook=rm -f $1/etc/apt/apt.conf.d/99mmdebstrap"]


def apt_settings() -> str:
    """How this machine's apt reaches its mirror."""
    if not shutil.which("apt-config"):
        return ""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    lines = [line for line in dump.splitlines() if any(fnmatch.fnmatch(line.split()[0], p) for p in APT_SETTINGS)]
    return "".join(f"{line}\n" for line in lines if not line.endswith(' "";'))


def debian_sources() -> list[Path]:
    """The machine's own list of Debian mirrors, if it has the usual one; otherwise mmdebstrap's default serves."""
    candidates = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
    found = [file for file in candidates if file.exists() and "bookworm" in file.read_text()]
    return found[:1]


def buildah() -> list[str]:
    """buildah with a store of its own, beside any other on the machine."""
    store = folder() / "store"
    flags = ["--storage-driver", "overlay", "--root", str(store), "--runroot", str(run_folder())]
    return [program("buildah"), *flags]


def run_folder() -> Path:
    """Where buildah counts its mounts; named after this boot, since a restart of the machine undoes them."""
    return folder() / f"run-{processes.boot()[:8]}"


@contextmanager
def together() -> Iterator[None]:
    """While something is built: what it made so far has no name yet, and must not be taken for left over."""
    with (folder().parent / "builder.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


@contextmanager
def alone() -> Iterator[bool]:
    """Whether nothing is built, and then nothing is until the end."""
    with (folder().parent / "builder.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def folder() -> Path:
    """Everything of the builder, in the cache: `down` keeps it."""
    made = cache.root() / "images" / "builder"
    made.mkdir(parents=True, exist_ok=True)
    return made
