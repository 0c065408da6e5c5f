"""The data files: their shape, their sources, their laws; and that broken ones are named."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuimage import tables
from gpuimage.tables import DataError, _laws, _load, _rows, _shipped

DATA = Path(tables.__file__).parent.parent / "data"
FILES = sorted(DATA.glob("*.json"))

# Sections whose rows share one source, named beside them.
SHARED_SOURCE = {
    ("base_images.json", "sizes"): None,
    ("cuda_releases.json", "arch_events"): "arch_events_source",
    ("forward_compat.json", "branches"): "applies_to_source",
    ("torch_wheels.json", "cudnn_by_release"): "cudnn_source",
    ("sizes.json", "measured"): None,  # measured here: `date` stands for the source
    ("sizes.json", "estimates"): None,  # `basis` stands for the source
}
# Rows of the facts that name no source are at least not called verified.
RECALLED = {("apt_packages.json", "signing_keys")}


def sections(path: Path) -> Iterator[tuple[str, list[dict[str, Any]], dict[str, Any]]]:
    table = json.loads(path.read_text(encoding="utf-8"))
    for name, value in table.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield name, value, table
        if isinstance(value, dict):
            for inner, rows in value.items():
                if isinstance(rows, list) and rows and isinstance(rows[0], dict):
                    yield inner, rows, value


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.name))
def test_every_row_has_a_source(path: Path) -> None:
    for name, rows, around in sections(path):
        shared = SHARED_SOURCE.get((path.name, name))
        for row in rows:
            own = [key for key in row if key == "source" or key.endswith("_source")]
            nested = isinstance(row.get("pypi_linux_x86_64"), dict) and row["pypi_linux_x86_64"]["source"]
            said = any(row[key] for key in own) or nested or row.get("date") or row.get("basis")
            if not said and (path.name, name) in RECALLED:
                assert row["verified"] is False
                continue
            assert said or (shared and around[shared]), f"{path.name} {name}: {row}"


def test_the_files_are_those_that_the_package_reads_or_ships_for_later_rules() -> None:
    later = {"apt_packages.json", "errors.json"}
    linter = {"known_bases.json", "lint_costs.json", "extensions.json", "default_compilers.json"}
    read = {
        f"{name}.json"
        for name, value in vars(_load).items()
        if callable(value) and hasattr(value, "cache_info")
    }
    assert {path.name for path in FILES} == read | later | linter


@pytest.mark.parametrize(
    "name", [n for n, value in vars(_load).items() if callable(value) and hasattr(value, "cache_info")]
)
def test_every_file_decodes_and_keeps_its_laws(name: str) -> None:
    getattr(_load, name)()


def test_the_edition_is_the_day_of_collection() -> None:
    assert tables.edition() == "2026-12-01"


Change = Callable[[dict[str, Any]], None]


def releases(table: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table["releases"]
    return rows


def drop_source(table: dict[str, Any]) -> None:
    del releases(table)[3]["source"]


def empty_source(table: dict[str, Any]) -> None:
    releases(table)[3]["source"] = ""


def text_for_truth(table: dict[str, Any]) -> None:
    releases(table)[3]["verified"] = "yes"


def bad_driver(table: dict[str, Any]) -> None:
    releases(table)[3]["linux_x86_64_driver_min"] = "R418"


def bad_version(table: dict[str, Any]) -> None:
    releases(table)[3]["cuda"] = "10.one"


@pytest.mark.parametrize("change", [drop_source, empty_source, text_for_truth, bad_driver, bad_version])
def test_a_broken_row_is_named_with_its_file_and_place(change: Change) -> None:
    table = json.loads((DATA / "cuda_releases.json").read_text())
    change(table)
    with pytest.raises(DataError, match=r"cuda_releases\.json .*\$\.releases\[3\]"):
        _load.decode("cuda_releases.json", json.dumps(table).encode(), _rows.CudaReleases, _laws.cuda_laws)


def release_twice(table: dict[str, Any]) -> None:
    releases(table).insert(9, releases(table)[8])


def swap(table: dict[str, Any]) -> None:
    releases(table)[8], releases(table)[9] = releases(table)[9], releases(table)[8]


def driver_falls(table: dict[str, Any]) -> None:
    row = next(row for row in releases(table) if row["cuda"] == "12.6.0")
    row["linux_x86_64_driver_min"] = "549.00"


def wrong_minor(table: dict[str, Any]) -> None:
    releases(table)[8]["minor"] = "11.9"


def twelve_seven(table: dict[str, Any]) -> None:
    row = {**next(r for r in releases(table) if r["cuda"] == "12.6.3"), "cuda": "12.7.0", "minor": "12.7"}
    releases(table).insert([r["cuda"] for r in releases(table)].index("12.8.0"), row)


def arch_comes_back(table: dict[str, Any]) -> None:
    next(row for row in table["minors"] if row["cuda"] == "12.4")["real_archs"].remove("sm_86")


def no_arch(table: dict[str, Any]) -> None:
    table["minors"][5]["real_archs"].append("sm_next")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (release_twice, "occurs twice"),
        (swap, "not in order"),
        (driver_falls, r"12\.6\.0 needs driver 549\.00"),
        (wrong_minor, "does not belong"),
        (twelve_seven, "never did"),
        (arch_comes_back, "sm_86 disappears"),
        (no_arch, "sm_next"),
    ],
)
def test_a_broken_law_of_the_releases_is_named(change: Change, says: str) -> None:
    table = json.loads((DATA / "cuda_releases.json").read_text())
    change(table)
    with pytest.raises(DataError, match=rf"cuda_releases\.json breaks a law.*{says}"):
        _load.decode("cuda_releases.json", json.dumps(table).encode(), _rows.CudaReleases, _laws.cuda_laws)


def test_unverified_releases_are_outside_the_law_of_rising_drivers() -> None:
    drivers = {row.cuda: row.linux_x86_64_driver_min for row in _load.cuda_releases().releases}
    assert (drivers["13.4.0"], drivers["13.4.1"]) == (
        "616.00",
        "615",
    )  # why the law is for verified rows only


def test_a_torch_default_outside_its_variants_breaks_a_law() -> None:
    table = json.loads((DATA / "torch_wheels.json").read_text())
    row = next(row for row in table["releases"] if row["torch"] == "2.9.1")
    row["pypi_linux_x86_64"]["default_cuda"] = "cu124"
    with pytest.raises(DataError, match=r"torch 2\.9\.1: the default variant"):
        _load.decode("torch_wheels.json", json.dumps(table).encode(), _rows.TorchWheels, _laws.torch_laws)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("source", None, "without a source"),
        ("x86_64", None, "verified without an arch list"),
        ("variant", "cu999", "no known variant"),
    ],
)
def test_a_torch_arch_list_that_contradicts_itself_breaks_a_law(
    key: str, value: str | None, says: str
) -> None:
    table = json.loads((DATA / "torch_wheels.json").read_text())
    row = next(row for row in table["releases"] if row["torch"] == "2.9.1")
    row["arch_lists"][1][key] = value
    with pytest.raises(DataError, match=rf"torch 2\.9\.1 cu\d+: .*{says}"):
        _load.decode("torch_wheels.json", json.dumps(table).encode(), _rows.TorchWheels, _laws.torch_laws)


def test_a_compat_package_of_another_cuda_breaks_a_law() -> None:
    table = json.loads((DATA / "forward_compat.json").read_text())
    table["matrix"][0]["cuda"] = "13.3"
    with pytest.raises(DataError, match=r"cuda-compat-13-4 is not of CUDA 13\.3"):
        _load.decode(
            "forward_compat.json", json.dumps(table).encode(), _rows.ForwardCompat, _laws.forward_laws
        )


def test_a_base_image_with_cudnn_breaks_a_law() -> None:
    table = json.loads((DATA / "base_images.json").read_text())
    table["nvidia_cuda"]["releases"][4]["os_flavours"]["ubuntu20.04"].append("cudnn8-base")
    with pytest.raises(DataError, match="impossible flavours"):
        _load.decode("base_images.json", json.dumps(table).encode(), _rows.BaseImages, _laws.image_laws)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff\xfe", b'{"releases": []}'])
def test_a_file_that_is_no_table_is_named(raw: bytes) -> None:
    with pytest.raises(DataError, match=r"data file gpus\.json is not valid"):
        _load.decode("gpus.json", raw, _rows.Gpus, _laws.gpu_laws)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(DataError, match=r"data file nothing\.json cannot be read"):
        _shipped.shipped("nothing.json")


def test_importing_the_tables_reads_no_data_and_no_heavy_module() -> None:
    code = (
        "import sys, gpuimage.tables as t, gpuimage.tables._load as l;"
        "heavy = {'yaml', 'jinja2', 'docker', 'rich', 'click', 'dockerfile_parse', 'elftools', 'subprocess',"
        " 'requests', 'importlib.metadata'};"
        "read = [l.cuda_releases.cache_info().currsize, l.gpus.cache_info().currsize];"
        "print(sorted(heavy & set(sys.modules)), *read)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "0", "0"]
