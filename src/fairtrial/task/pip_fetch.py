"""Run as a process of its own: download one source archive as pip would, and nothing more.

`pip download` also runs the package's own build code to learn its dependencies. This uses pip's index settings,
finder and session, and stops at the file. Arguments: name, version, target. Prints nothing.
"""

import pathlib
import sys


def main(name: str, version: str, target: str) -> int:
    """Find the source archive of exactly this version and write it to `target`."""
    from pip._internal.commands.download import DownloadCommand

    command = DownloadCommand("download", "Download one source archive.")
    options, _ = command.parse_args(["--no-deps", "--no-binary", ":all:", name])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session)  # noqa: SLF001 — pip offers no public way
        links = [c.link for c in finder.find_all_candidates(name) if str(c.version) == version and not c.link.is_wheel]
        if not links:
            sys.stderr.write(f"the index has no source archive of {name} {version}\n")
            return 3
        response = session.get(links[0].url_without_fragment, headers={"Accept-Encoding": "identity"}, timeout=60)
        response.raise_for_status()
        pathlib.Path(target).write_bytes(response.content)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
