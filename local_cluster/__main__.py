"""The commands of the local cluster: `python -m local_cluster up|down|status|env|images|prune`."""

import argparse
import os
import shlex
import sys

from local_cluster import cluster, images, layout
from local_cluster.binaries import ProgramNotBuilt
from local_cluster.packages import MissingProgram
from local_cluster.processes import ComponentFailed, PortTaken
from local_cluster.progress import say

INTERRUPTED = 130  # as a shell tells it


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Failures whose cause is known are told in words, without a traceback."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (ComponentFailed, MissingProgram, PortTaken, ProgramNotBuilt, images.BuildFailed) as failure:
        say(f"✗ {failure}")
        return 1
    except KeyboardInterrupt:
        say("✗ interrupted; the same command goes on where this one was")
        return INTERRUPTED


def _up(options: argparse.Namespace) -> int:
    running = cluster.up(with_images=options.images)
    say(f'✓ the cluster is up; in a shell: eval "$(python -m local_cluster env)"\n  kubeconfig: {running.kubeconfig}')
    return 0


def _down(options: argparse.Namespace) -> int:
    cluster.down(purge_state=options.purge_state, keep_s3=options.keep_s3)
    say("✓ the cluster is down")
    return 0


def _status(_: argparse.Namespace) -> int:
    rows = cluster.status()
    for name, pid, healthy in rows:
        print(f"{name:26} {pid or '-':>8}  {'healthy' if healthy else 'NOT HEALTHY' if pid else 'not running'}")
    print(f"logs: {layout.logs()}")
    return 0 if all(healthy for _, _, healthy in rows) else 1


def _env(_: argparse.Namespace) -> int:
    running = cluster.current()
    if not running:
        say("✗ the cluster is not running: python -m local_cluster up")
        return 1
    for name, value in running.environment().items():
        print(f"export {name}={shlex.quote(value)}")
    if any(name.lower().endswith("_proxy") for name in os.environ):
        print(f'export NO_PROXY="{layout.BRIDGE_ADDRESS},127.0.0.1${{NO_PROXY:+,$NO_PROXY}}"')
        print('export no_proxy="$NO_PROXY"')
    print(f'export PATH={shlex.quote(str(running.bin_dir))}:"$PATH"')
    return 0


def _images(options: argparse.Namespace) -> int:
    if not cluster.current():
        say("✗ the cluster is not running: python -m local_cluster up")
        return 1
    also = [image.name for image in images.on_request()] if options.also == "all" else options.also.split(",")
    for name, reference in cluster.load_images([name for name in also if name]).items():
        print(f"{name:24} {reference}")
    return 0


def _prune(options: argparse.Namespace) -> int:
    cluster.clean(all_of_it=options.all)
    say("✓ what is left in the cache is described by this checkout")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local_cluster", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="bring the cluster up, or repair it")
    up.add_argument("--images", action="store_true", help="also build and load our images")
    up.set_defaults(run=_up)
    down = commands.add_parser("down", help="stop and remove everything, except the cache of programs and images")
    kept = down.add_mutually_exclusive_group()
    kept.add_argument("--purge-state", action="store_true", help="also delete the logs: the whole state folder")
    kept.add_argument("--keep-s3", action="store_true", help="keep buckets and objects for the next `up`")
    down.set_defaults(run=_down)
    commands.add_parser("status", help="what is running and healthy").set_defaults(run=_status)
    commands.add_parser("env", help="print shell exports for this cluster").set_defaults(run=_env)
    built = commands.add_parser("images", help="build and load our images")
    built.add_argument("--agents", dest="also", default="", metavar="NAMES", help="also pi,codex,… of examples, or all")
    built.set_defaults(run=_images)
    pruned = commands.add_parser("prune", help="remove from the cache what this checkout no longer describes")
    pruned.add_argument("--all", action="store_true", help="also what only makes the next build faster")
    pruned.set_defaults(run=_prune)
    return parser


if __name__ == "__main__":
    sys.exit(main())
