"""The lab's command line: python -m tests.lab up | down | status | bases NAME..."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from tests import lab
from tests.lab import daemon, packages, podman, registry
from tests.lab.home import Home
from tests.lab.shell import say


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; 0 when it worked, 3 when this machine cannot have a lab."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=lab.__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="start the registry and the private Docker daemon, and keep them")
    up.add_argument("--podman", action="store_true", help="also install podman and buildah")
    down = verbs.add_parser("down", help="stop everything")
    down.add_argument("--remove", action="store_true", help="remove all files of the lab too")
    verbs.add_parser("status", help="say what runs")
    bases = verbs.add_parser("bases", help="make stand-in bases")
    bases.add_argument("names", nargs="+", metavar="NAME", help="python:3.12-slim-bookworm, for example")
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except lab.LabError as error:
        say(str(error))
        return 3
    except KeyboardInterrupt:
        say("interrupted")
        return 130


def _run(options: argparse.Namespace) -> int:
    home = Home.find()
    if options.verb == "down":
        lab.down(home, remove=options.remove)
        return 0
    if options.verb == "status":
        return _status(home)
    if options.verb == "bases":
        return _bases(home, options.names)
    started = time.monotonic()
    running = lab.up(home)
    home.keep.touch()
    if options.podman:
        podman.ensure()
    say(f"up after {time.monotonic() - started:.1f} s; stop it with: python -m tests.lab down")
    print(f"export DOCKER_HOST={running.docker_host}")
    print(f"export GPUIMAGE_REGISTRY={running.registry}")
    return 0


def _bases(home: Home, names: Sequence[str]) -> int:
    before = bool(registry.pids(home))
    running = lab.up(home, docker=False)
    try:
        for name in names:
            print(running.base(name))
    finally:
        if not before:
            registry.stop(home)
    return 0


def _status(home: Home) -> int:
    where = registry.address(home)
    tools = packages.missing((*packages.DOCKER_TOOLS, *packages.BASE_TOOLS, *packages.PODMAN_TOOLS))
    print(f"state      {home.root}")
    print(f"docker     unix://{home.socket}  {'running' if daemon.answers(home.socket) else 'stopped'}")
    print(f"registry   {where or '-'}  {'running' if registry.answers(where) else 'stopped'}")
    print(f"bases      {', '.join(sorted(path.stem for path in home.bases.glob('*.json'))) or '-'}")
    print(f"on disk    {registry.storage_bytes(home) / 1e6:.0f} MB of bases")
    print(f"missing    {', '.join(tools) or '-'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
