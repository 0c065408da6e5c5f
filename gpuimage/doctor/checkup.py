"""All of it in order: engines, GPU, what containers get of it, the network."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpuimage.doctor import certificates, network
from gpuimage.doctor.driver import Driver, read_driver
from gpuimage.doctor.engines import Engines, ask_engines, engine_lines
from gpuimage.doctor.fit import fit_lines, image_bytes
from gpuimage.doctor.gpu import devices, gpu_lines, works
from gpuimage.doctor.host import Host
from gpuimage.doctor.nvml import Nvml, ask
from gpuimage.doctor.settings import read_daemon, settings_line
from gpuimage.doctor.toolkit import container_lines
from gpuimage.doctor.types import Checkup, Line
from gpuimage.doctor.waiting import together
from gpuimage.errors import Location, SpecError
from gpuimage.lock import lock_beside
from gpuimage.plan import Plan, plan
from gpuimage.spec import SpecFile
from gpuimage.tables import today

_NVML_SECONDS = 15.0  # a GPU that hangs makes its library wait for good


def doctor(
    root: Path = Path("/"),
    *,
    engine: str = "auto",
    host: str | None = None,
    specs: Sequence[SpecFile] = (),
    mirrors: Mapping[str, str] | None = None,
    ca: Path | None = None,
    offline: bool = False,
    require: frozenset[str] = frozenset(),
    day: str | None = None,
) -> Checkup:
    """Look at a machine and say what it lacks for building images and for running them on a GPU.

    `root` is where its files are: with another one than `/` no program and no library of this machine is asked, and
    an engine only by `host`, a docker daemon's address. `specs` are the variants of a spec to be built here: their
    size, mirrors, CA and index count. `mirrors` and `ca` add to those. `offline` asks no registry and no index.
    `day`, `2026-12-01`, decides whether support of the driver has ended; today, where it is None.
    Nothing that is missing raises; SpecError for a root that is no directory, a CA bundle that cannot be used, and an
    engine that does not exist; what planning raises, for a spec that cannot be planned.
    """
    machine, bundle = Host(root), _given_ca(specs, ca)
    plans = [plan(file, lock_beside(file)) for file in specs]
    engines = _engines(machine, engine, host)
    driver = read_driver(machine)
    nvml = _nvml() if machine.here else None
    lines = list(engine_lines(machine, engines, image_bytes(plans))) if engines else [_not_asked()]
    lines += _settings(machine, engines)
    lines += _gpu(machine, driver, nvml, engines, plans, day)
    lines += _network(machine, engines, specs, mirrors or {}, bundle, offline=offline)
    chosen = engines.chosen.engine if engines and engines.chosen else None
    return Checkup(root=str(root), engine=chosen, lines=tuple(lines), required=require)


def _engines(machine: Host, engine: str, host: str | None) -> Engines | None:
    if machine.here:
        return ask_engines(engine, host)
    return ask_engines("docker", host) if host else None


def _not_asked() -> Line:
    return Line(
        area="engine",
        name="engine",
        status="skipped",
        seen="not asked",
        why="only files are looked at below a root; --host names a daemon to ask",
    )


def _settings(machine: Host, engines: Engines | None) -> Iterator[Line]:
    if engines is None or "docker" in engines.asked:
        serves = engines is not None and engines.asked["docker"].available
        line = settings_line(machine, read_daemon(machine, rootless=False), serves=serves)
        if line is not None:
            yield line


def _nvml() -> Nvml | None:
    asked = together({"nvml": ask}, _NVML_SECONDS)
    return asked["nvml"] if asked else Nvml(problem=f"no answer within {_NVML_SECONDS:g} seconds")


def _gpu(
    machine: Host,
    driver: Driver,
    nvml: Nvml | None,
    engines: Engines | None,
    plans: Sequence[Plan],
    day: str | None,
) -> Iterator[Line]:
    day = day or today().isoformat()
    lines = list(gpu_lines(machine, driver, nvml, day))
    yield from lines
    if not driver.present and nvml is None:
        why = "there is no GPU that it could give to containers"
        yield Line(area="gpu", name="container toolkit", status="skipped", seen="not looked for", why=why)
        return
    chosen = engines.chosen if engines else None
    asked = chosen.engine if chosen else next(iter(engines.asked)) if engines else _likely(machine)
    version = (nvml.driver if nvml else None) or driver.version
    # What goes into containers are the libraries; after an update they are newer than the module that runs.
    libraries = (driver.cuda.version if driver.cuda else None) or version
    yield from container_lines(machine, gpu_works=works(lines), driver=libraries, engine=asked, health=chosen)
    if version is not None:
        yield from fit_lines(machine, plans, version, devices(driver, nvml))


def _likely(machine: Host) -> str:
    """The engine of a machine that is only looked at."""
    return "podman" if machine.program("podman") and not machine.program("dockerd") else "docker"


def _given_ca(specs: Sequence[SpecFile], ca: Path | None) -> Path | None:
    """The bundle that a build would get; SpecError where it cannot be used."""
    own = specs[0].spec.build.ca if specs else None
    given = ca or (specs[0].directory / own if own else None)
    found = certificates.read_bundle(Host(Path("/")), str(given.absolute()), "--ca") if given else None
    if given and found and found.problem:
        raise SpecError(f"this CA bundle cannot be used: {found.problem}", where=Location(given))
    return given


def _network(
    machine: Host, engines: Engines | None, specs: Sequence[SpecFile], mirrors: Mapping[str, str], ca: Path | None,
    *, offline: bool,
) -> Iterator[Line]:  # fmt: skip
    build = specs[0].spec.build if specs else None
    environment = os.environ if machine.here else {}
    named = network.pip_certificate(machine, environment)
    yield from certificates.ca_lines(machine, environment, named, str(ca) if ca else None)
    if offline:
        yield Line(area="network", name="network", status="skipped", seen="not asked", why="--offline")
        return
    details = engines.chosen.details if engines and engines.chosen else None
    wanted = specs[0].spec.index if specs else ""
    places = (
        *network.registries(
            {**(build.mirrors if build else {}), **mirrors}, details.mirrors if details else ()
        ),
        network.index(machine, environment, wanted if "://" in wanted else None),
    )
    yield from network.network_lines(places, ca)
