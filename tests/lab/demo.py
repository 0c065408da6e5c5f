"""`make demo`: build and smoke-test examples/quickstart with what this machine has, and the lab for the rest."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from pip._vendor import certifi

from tests import lab
from tests.lab import daemon
from tests.lab.home import CHECKOUT, Home
from tests.lab.shell import LabError, say

EXAMPLE = CHECKOUT / "examples" / "quickstart"
_FROM = re.compile(r"^FROM (?:--platform=\S+ )?(\S+)(?: AS (\S+))?", re.MULTILINE | re.IGNORECASE)
_IMAGE = re.compile(r"^image:\s*(\S+)", re.MULTILINE)


def main() -> int:
    """Run the demo; the exit code is that of `gpuimage build`, 3 when there is no engine and none can be had."""
    home = Home.find()
    try:
        host, options = prepare(home)
    except LabError as error:
        say(str(error))
        return 3
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    spec = EXAMPLE / "spec.yaml"
    command = ["build", str(spec.relative_to(CHECKOUT)), "--engine", "docker", "--host", host, *options]
    say(f"gpuimage {' '.join(command)}")
    code = subprocess.run([sys.executable, "-m", "gpuimage", *command], cwd=CHECKOUT, check=False).returncode
    if code == 0:
        match = _IMAGE.search(spec.read_text())
        print(_what_next(home, host, match[1] if match else "IMAGE"), flush=True)
    return code


def prepare(home: Home) -> tuple[str, list[str]]:
    """Return the Docker daemon to use and the options of `gpuimage build`; starts only what is missing."""
    system = daemon.system_host()
    hub = _hub_answers()
    options = []
    host = system
    if system is None or not hub:
        running = lab.up(home, docker=system is None)
        home.keep.touch()  # the image stays usable after the demo
        if not hub:
            say("Docker Hub does not answer from here: bases come from the lab's registry")
            for name in bases_of(EXAMPLE / "Dockerfile"):
                running.base(name)
            options += ["--mirror", f"docker.io={running.registry}"]
        if system is None:
            host = running.docker_host
            options += ["--network", "host"]  # the private daemon has no bridge
    ca = lab.find_ca()
    if ca is not None and _needs_ca():
        options += ["--ca", str(ca)]
    return str(host), options


def bases_of(dockerfile: Path) -> tuple[str, ...]:
    """Return the images a Dockerfile starts from, each once, without its own stages."""
    found = _FROM.findall(dockerfile.read_text())
    stages = {stage.lower() for _, stage in found}
    return tuple(dict.fromkeys(name for name, _ in found if name.lower() not in stages))


def _hub_answers() -> bool:
    try:
        with urllib.request.urlopen("https://registry-1.docker.io/v2/", timeout=5):
            return True
    except urllib.error.HTTPError as error:
        return error.code == 401  # it is there, and wants a token, as always
    except OSError:
        return False


def _needs_ca() -> bool:
    """Return whether a container that trusts only the public authorities could not reach PyPI."""
    public = ssl.create_default_context(cafile=certifi.where())
    try:
        with urllib.request.urlopen("https://pypi.org/simple/pip/", timeout=10, context=public):
            return False
    except OSError as error:
        return isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError)


def _what_next(home: Home, host: str, image: str) -> str:
    private = host == f"unix://{home.socket}"
    lines = ["", "Use it:"]
    if private:
        lines.append(f"  export DOCKER_HOST={host}")
    lines += [
        f"  docker run --rm {image}              # add --gpus all where there is a GPU",
        "Stop and remove everything the demo started:" if private else "Remove the lab's files:",
        "  make clean",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
