"""Build and copy the self-contained runtime: a Python that runs in any Linux image, whatever libc it has or lacks.

`python -m fairtrial.runtime DIR PACKAGE...` is run once, while an image is built. It puts into DIR the interpreter that
runs it, the standard library without what no pod needs, the shared libraries that these load, the loader itself, the
pod-side modules of `fairtrial`, and the named packages. `names.runtime_command` starts a module with it; programs that
are started from there see none of it, since the library path is an argument of the loader and not an environment
variable. DIR is copied into the pod's volume before anything else is started there: so all Python code lies
in one file, because a thousand small ones take a second to copy in a container.
"""

import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from fairtrial import names
from fairtrial.errors import FairtrialError

LOADER = "ld-linux-x86-64.so.2"
_PRELOAD = b"/etc/ld.so.preload"


def _words(*lines: str) -> list[str]:
    return " ".join(lines).split()


# The modules of this package that pods import: standard library only.
_SHARED = {
    "": _words(
        "__init__.py names.py errors.py failure.py documents.py archive channel.py process gateway_client.py",
        "runtime.py events task",
    ),
    "task": _words("__init__.py globs.py packed.py"),
}
# Standard library that no pod needs: tests, GUIs, installers, servers, and clients other than plain HTTP.
_LEFT_OUT = _words(
    "test tests idlelib tkinter turtledemo turtle.py lib2to3 ensurepip distutils pydoc_data pydoc.py doctest.py venv",
    "curses dbm sqlite3 xmlrpc wsgiref msilib unittest asyncio multiprocessing site-packages dist-packages __pycache__",
    "antigravity.py this.py smtplib.py imaplib.py nntplib.py poplib.py ftplib.py telnetlib.py mailbox.py pdb.py cgi.py",
    "cgitb.py webbrowser.py zipapp.py pickletools.py profile.py cProfile.py pstats.py aifc.py wave.py sunau.py",
    "chunk.py sndhdr.py imghdr.py uu.py xdrlib.py statistics.py",
)
# Extension modules, where the interpreter has them apart. OpenSSL's _ssl is not among them: pods speak plain HTTP to
# the gateway alone.
_EXTENSIONS = _words(
    "_hashlib _ctypes _json _posixsubprocess select _socket math _struct zlib fcntl array _random binascii _bisect",
    "_heapq _datetime unicodedata _opcode _pickle _queue grp resource mmap _contextvars _sha512 _sha256 _sha1 _md5",
    "_sha3 _blake2 termios _csv _elementtree pyexpat _decimal",
)


def build(target: Path, packages: list[Path]) -> None:
    """Make a runtime in `target` from the interpreter that runs this, with `packages` importable in it."""
    library = target / "lib"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    standard = library / f"python{version}"
    (target / "bin").mkdir(parents=True)
    python = target / "bin" / "python3"
    shutil.copy2(_interpreter(), python)
    shutil.copytree(sysconfig.get_path("stdlib"), standard, ignore=_ignored)
    extensions = standard / "lib-dynload"
    for file in extensions.iterdir():
        if file.name.partition(".")[0] not in _EXTENSIONS:
            file.unlink()
    shutil.copytree(Path(__file__).parent, standard / "fairtrial", ignore=_not_shared)
    for package in packages:
        shutil.copytree(package, standard / package.name, ignore=shutil.ignore_patterns("__pycache__", "testing.py"))
    _copy_libraries([python, *extensions.iterdir()], library)
    for binary in [python, *extensions.iterdir(), *library.glob("*.so*")]:
        _strip(binary)
    _ignore_images_preload(library / LOADER)
    # The interpreter looks for its library under this very name beside the folder.
    _pack(standard, library / f"python{version.replace('.', '')}.zip", besides=extensions)


def copy(source: Path, target: Path) -> None:
    """Copy a runtime to where a pod's containers find it."""
    shutil.copytree(source, target, copy_function=shutil.copy)


def _interpreter() -> Path:
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def _ignored(_folder: str, entries: list[str]) -> set[str]:
    return {entry for entry in entries if entry in _LEFT_OUT or entry.startswith("config-") or entry.endswith(".pyc")}


def _not_shared(folder: str, entries: list[str]) -> set[str]:
    inside = os.path.relpath(folder, Path(__file__).parent)
    shared = _SHARED.get("" if inside == "." else inside, entries)
    return {entry for entry in entries if entry == "__pycache__" or entry not in shared}


def _copy_libraries(binaries: list[Path], library: Path) -> None:
    """Copy what the loader would load for `binaries`, and the loader. `ldd` lists the whole closure of each."""
    for binary in binaries:
        for found in _needed(binary):
            # glibc loads this one by itself when a thread ends early; nothing names it as needed.
            unwinder = found.parent / "libgcc_s.so.1"
            if found.name == "libc.so.6" and unwinder.exists() and not (library / unwinder.name).exists():
                shutil.copy2(unwinder.resolve(), library / unwinder.name)
            copy_to = library / (LOADER if found.name.startswith("ld-linux") else found.name)
            if not copy_to.exists():
                shutil.copy2(found.resolve(), copy_to)
    if not (library / LOADER).exists():
        raise FairtrialError("The interpreter names no loader.", next_move="Build on x86-64 glibc Linux.")


def _needed(binary: Path) -> list[Path]:
    listed = subprocess.run(["ldd", os.fspath(binary)], capture_output=True, text=True, check=False).stdout
    if "not found" in listed:
        raise FairtrialError(f"{binary.name} needs a library that is not here: {listed}")
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", listed, re.MULTILINE)]


def _strip(binary: Path) -> None:
    """Remove symbols where the tool for it is present: size only."""
    if (tool := shutil.which("strip")) is not None:
        binary.chmod(0o755)
        subprocess.run([tool, "--strip-unneeded", os.fspath(binary)], check=False, capture_output=True)


def _ignore_images_preload(loader: Path) -> None:
    """Let the loader look for the list of libraries to preload where no image has a file: else it would load them into
    the process that every program of the candidate is watched by. No argument and no variable keeps it from doing so.
    """
    nowhere = f"{names.SHARED_DIR}/nowhere".encode().ljust(len(_PRELOAD), b"\0")
    content = loader.read_bytes()
    if content.count(_PRELOAD + b"\0") != 1 or len(nowhere) != len(_PRELOAD):
        raise FairtrialError(
            f"{loader.name} does not name {_PRELOAD.decode()} once.", next_move="Build with glibc 2.36."
        )
    loader.write_bytes(content.replace(_PRELOAD, nowhere))


def _pack(standard: Path, archive: Path, besides: Path) -> None:
    """Compile everything and move it into one archive that is imported from; `besides` stays, it can't be loaded so.

    Compiled ahead, and valid whatever times the copy has, so that start-up neither compiles nor checks. Stored without
    compression, and with a fixed time: the same content gives the same bytes, and importing it costs no unpacking.
    """
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(standard, quiet=2, stripdir=os.fspath(standard), legacy=True, invalidation_mode=unchecked)
    files = sorted(path for path in standard.rglob("*") if path.is_file() and not path.is_relative_to(besides))
    with zipfile.ZipFile(archive, "w") as packed:
        for path in files:
            if path.suffix != ".py" or not path.with_suffix(".pyc").exists():
                packed.writestr(zipfile.ZipInfo(os.fspath(path.relative_to(standard))), path.read_bytes())
    for path in standard.iterdir():
        if path != besides:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    build(Path(sys.argv[1]), [Path(package) for package in sys.argv[2:]])
