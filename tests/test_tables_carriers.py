"""Who carries a library and which releases have which glibc, held against the packages and the C library of this machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess

import pytest

from gpuimage.tables import _load, carriers, glibc_releases


def test_a_library_is_found_by_its_file_name_and_by_its_soname() -> None:
    assert [(one.kind, one.name) for one in carriers("libGL.so.1")] == [("package", "libgl1")]
    assert carriers("libcudnn_ops.so.9.1.0") == carriers("libcudnn_ops.so.9")
    assert ("wheel", "nvidia-cublas-cu12") in [(one.kind, one.name) for one in carriers("libcublas.so.12")]
    assert [one.name for one in carriers("libcudnn_ops_infer.so.8") if one.kind == "wheel"] == []
    assert carriers("libnobody.so.1") == ()
    assert carriers("") == ()


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="no Debian package database")
def test_the_packages_are_those_that_debian_installed_the_files_from() -> None:
    checked = 0
    for row in _load.os_libraries().libraries:
        listed = subprocess.run(
            ["dpkg-query", "-L", row.package], capture_output=True, text=True, check=False
        )
        if listed.returncode == 0:
            assert f"/{row.library}\n" in listed.stdout, row.package
            checked += 1
    assert checked, "libstdc++6 is on every Debian"


def test_releases_with_a_glibc_are_listed_oldest_first() -> None:
    assert glibc_releases("2.38") == ("ubuntu24.04", "debian13")
    assert glibc_releases("2.36") == ("debian12", "ubuntu24.04", "debian13")
    assert glibc_releases("9.0") == ()
    assert glibc_releases("new") == ()


def test_the_glibc_of_this_machine_is_the_one_in_the_table() -> None:
    system = platform.freedesktop_os_release()
    name = f"{system['ID']}{system.get('VERSION_ID', '')}"
    rows = [row.glibc for row in _load.os_libraries().glibc if row.os == name]
    if not rows:
        pytest.skip(f"the table has no {name}")
    assert f"glibc {rows[0]}" == os.confstr("CS_GNU_LIBC_VERSION")
