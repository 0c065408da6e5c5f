"""The lock: exact, hashed, sized, stale when its question changes, and written whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from uv import find_uv_bin

from gpuimage.errors import ResolveError, SpecError, UnavailableError
from gpuimage.lock import (
    Lock,
    Locked,
    Resolution,
    lock_path,
    packages_of_pylock,
    packages_of_uv_lock,
    read_lock,
    resolve,
    write_lock,
)
from gpuimage.spec import load_spec, variants

SHA = st.text("0123456789abcdef", min_size=64, max_size=64)
SIZES = st.none() | st.integers(0, 10**11)
LOCKED = st.builds(
    Locked,
    name=st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True),
    version=st.from_regex(r"[0-9]+(\.[0-9]+){0,3}(\+cu[0-9]{3})?", fullmatch=True),
    hashes=st.lists(SHA, min_size=1, max_size=3).map(tuple),
    download_bytes=SIZES,
    installed_bytes=SIZES,
)


def from_url(one: Locked) -> Locked:
    """The same wheel, named by its URL; a wheel's file name holds the version in its normal form."""
    version = str(Version(one.version))
    return replace(
        one,
        version=version,
        url=f"https://example.com/{one.name.replace('-', '_')}-{version}-py3-none-any.whl",
    )


LOCKS = st.builds(
    Lock,
    digest=SHA,
    packages=st.lists(LOCKED | LOCKED.map(from_url), max_size=5).map(tuple),
    sources=st.lists(LOCKED, max_size=2).map(tuple),
    resolved=st.dates().map(lambda d: d.isoformat()),
    options=st.sampled_from([(), ("--extra-index-url https://example.com/whl/cu126",)]),
)


@given(LOCKS)
def test_a_written_lock_reads_back_as_itself(tmp_path_factory: pytest.TempPathFactory, lock: Lock) -> None:
    path = tmp_path_factory.mktemp("lock") / "spec.lock"
    write_lock(lock, path)
    assert read_lock(path) == lock


def test_no_lock_is_none_and_a_foreign_file_is_an_error(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "spec.lock") is None
    (tmp_path / "spec.lock").write_text("numpy==2.0.0\n")
    with pytest.raises(SpecError, match="not a lock of this version"):
        read_lock(tmp_path / "spec.lock")


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    good = Lock("0" * 64, (Locked("six", "1.16.0", ("a" * 64,), 1, 2),), resolved="2026-12-01").text()
    (tmp_path / "spec.lock").write_text(good.replace("aaaa", "zz", 1))
    with pytest.raises(SpecError) as caught:
        read_lock(tmp_path / "spec.lock")
    assert caught.value.where is not None
    assert caught.value.where.line == 3


@pytest.mark.parametrize(
    "other",
    [
        Resolution(("numpy==2.0.1",)),
        Resolution(("numpy==2.0.0",), python="3.13"),
        Resolution(("numpy==2.0.0",), torch_backend="cpu"),
        Resolution(("numpy==2.0.0",), index="https://example.com/simple"),
        Resolution(("numpy==2.0.0",), files=(("requirements.txt", "six"),)),
        Resolution(("numpy==2.0.0",), local=(("./a.whl", "f" * 64),)),
        Resolution(("numpy==2.0.0",), sources=("flash-attn==2.8.3",)),
    ],
    ids=["version", "python", "backend", "index", "file", "wheel", "source"],
)
def test_whatever_can_change_the_answer_makes_the_lock_stale(other: Resolution) -> None:
    assert other.digest != Resolution(("numpy==2.0.0",)).digest


def test_the_lock_lies_beside_its_spec_and_each_variant_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "infer.prod.yaml"
    path.write_text("image: a/b:1\n")
    assert lock_path(load_spec(path)) == tmp_path / "infer.prod.lock"
    path.write_text('image: a/b:1\nmatrix: {cuda: ["12.6"], python: ["3.12", "3.13"]}\n')
    names = [lock_path(variant).name for variant in variants(load_spec(path))]
    assert names == ["infer.prod.cu126-py312.lock", "infer.prod.cu126-py313.lock"]


def test_uv_resolves_what_pip_resolves(tmp_path: Path) -> None:
    """The independent oracle: pip's own resolution of the same question, names, versions and hashes."""
    wanted = "pandas[performance]==2.3.3"
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    question = Resolution((wanted,), python=here, platform="x86_64-manylinux_2_36")
    lock = resolve(question, directory=tmp_path, measure=False)
    command = [
        sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--report", "-",
        "--target", str(tmp_path / "t"), "--only-binary", ":all:", wanted,
    ]  # fmt: skip
    alone = dict(os.environ) | {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=alone).stdout)
    by_pip = {
        (item["metadata"]["name"].lower().replace("_", "-"), item["metadata"]["version"]): item[
            "download_info"
        ]["archive_info"]["hashes"]["sha256"]
        for item in report["install"]
    }
    assert {(p.name, p.version) for p in lock.packages} == set(by_pip)
    assert all(by_pip[p.name, p.version] in p.hashes for p in lock.packages)


def test_the_installed_size_is_that_of_the_unpacked_wheel(tmp_path: Path) -> None:
    lock = resolve(Resolution(("markupsafe==3.0.2",)), directory=tmp_path)
    subprocess.run(
        [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.12",
            "--platform", "manylinux2014_x86_64", "--dest", str(tmp_path), "markupsafe==3.0.2",
        ],
        check=True,
    )  # fmt: skip
    wheel = next(tmp_path.glob("*.whl"))
    [package] = lock.packages
    assert package.download_bytes == wheel.stat().st_size
    assert package.installed_bytes == sum(entry.file_size for entry in zipfile.ZipFile(wheel).infolist())


def test_a_version_that_does_not_exist_has_no_solution(tmp_path: Path) -> None:
    with pytest.raises(ResolveError) as caught:
        resolve(Resolution(("numpy==99",)), directory=tmp_path)
    assert caught.value.exit_code == 2
    assert "numpy==99" in str(caught.value)


def test_a_package_without_wheels_is_pointed_to_compile(tmp_path: Path) -> None:
    with pytest.raises(ResolveError) as caught:
        resolve(Resolution(("flash-attn==2.8.3",)), directory=tmp_path)
    assert "move flash-attn to `compile:`" in str(caught.value)


def test_sources_are_locked_without_building_them(tmp_path: Path) -> None:
    lock = resolve(Resolution((), sources=("flash-attn==2.8.3",)), directory=tmp_path)
    assert lock.packages == ()
    [source] = lock.sources
    assert (source.name, source.version) == ("flash-attn", "2.8.3")
    # sha256 of flash_attn-2.8.3.tar.gz as the index lists it
    assert source.hashes == ("1e71dd64a9e0280e0447b8a0c2541bad4bf6ac65bdeaa2f90e51a9e57de0370d",)


def test_an_index_that_does_not_answer_is_unavailable_not_unsolvable(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        resolve(Resolution(("six",), index="https://index.invalid/simple"), directory=tmp_path)
    assert caught.value.exit_code == 3


def test_a_local_wheel_stays_out_of_the_lock_and_its_dependencies_enter_it(tmp_path: Path) -> None:
    wheel = tmp_path / "ours-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("ours.py", "")
        archive.writestr(
            "ours-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: ours\nVersion: 1.0\nRequires-Dist: six==1.16.0\n",
        )
        archive.writestr(
            "ours-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("ours-1.0.dist-info/RECORD", "")
    lock = resolve(
        Resolution((), local=(("./ours-1.0-py3-none-any.whl", "f" * 64),)), directory=tmp_path, measure=False
    )
    assert [(p.name, p.version) for p in lock.packages] == [("six", "1.16.0")]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Return the address of a server on loopback and the directory it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()


def test_a_wheel_of_a_url_is_locked_with_its_url_and_pip_installs_that(
    served: tuple[str, Path], tmp_path: Path
) -> None:
    address, folder = served
    wheel = folder / "mine-1.5+cu128-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("mine.py", "")
        archive.writestr(
            "mine-1.5+cu128.dist-info/METADATA", "Metadata-Version: 2.1\nName: mine\nVersion: 1.5+cu128\n"
        )
        archive.writestr("mine-1.5+cu128.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("mine-1.5+cu128.dist-info/RECORD", "")
    lock = resolve(Resolution((f"mine @ {address}/mine-1.5%2Bcu128-py3-none-any.whl",)), directory=tmp_path)
    write_lock(lock, tmp_path / "spec.lock")
    again = read_lock(tmp_path / "spec.lock")
    assert again == lock
    assert again.version("mine") == "1.5+cu128"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--require-hashes",
    ]
    target = tmp_path / "site"
    subprocess.run([*command, "--target", str(target), "-r", str(tmp_path / "spec.lock")], check=True)
    assert (target / "mine.py").is_file()


def test_a_source_archive_of_a_url_is_pointed_to_compile(served: tuple[str, Path], tmp_path: Path) -> None:
    address, folder = served
    with tarfile.open(folder / "mine-1.5.tar.gz", "w:gz") as archive:
        (tmp_path / "pyproject.toml").write_text(
            '[build-system]\nrequires = []\nbuild-backend = "x"\n[project]\nname = "mine"\nversion = "1.5"\n'
        )
        archive.add(tmp_path / "pyproject.toml", "mine-1.5/pyproject.toml")
    with pytest.raises(ResolveError) as caught:
        resolve(Resolution((f"mine @ {address}/mine-1.5.tar.gz",)), directory=tmp_path)
    assert "compile" in (caught.value.hint or "")


def test_a_pylock_gives_its_pins(tmp_path: Path) -> None:
    path = tmp_path / "pylock.toml"
    path.write_text(
        'lock-version = "1.0"\ncreated-by = "x"\n[[packages]]\nname = "six"\nversion = "1.16.0"\nmarker = "python_version > \'3\'"\n'
    )
    assert packages_of_pylock(path) == ("six==1.16.0 ; python_version > '3'",)
    path.write_text("not toml [")
    with pytest.raises(SpecError, match="not a pylock"):
        packages_of_pylock(path)


def test_a_uv_lock_gives_what_uv_exports(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["six==1.16.0"]\n'
    )
    subprocess.run([find_uv_bin(), "lock", "--quiet", "--system-certs"], cwd=tmp_path, check=True)
    assert packages_of_uv_lock(tmp_path / "uv.lock") == ("six==1.16.0",)
    (tmp_path / "uv.lock").write_text("broken [")
    with pytest.raises(SpecError, match="cannot export"):
        packages_of_uv_lock(tmp_path / "uv.lock")
