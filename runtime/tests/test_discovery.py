"""Plugins are found by entry point, path variable and package folder, and none of them can break `import dougong`."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Named = Callable[..., Path]

DOCTOR = """
    import sys
    from dougong._cli import main
    main(["doctor", "--json", "--deadline", "4", *sys.argv[1:]])
"""


class Site:
    """A folder with installed packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, package: str, name: str, value: str, module: str | None) -> None:
        metadata = self.folder / f"{package}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[dougong.plugins]\n{name} = {value}\n")
        if module is not None:
            (self.folder / f"{value.split(':')[0]}.py").write_text(module)


@pytest.fixture
def site(tmp_path: Path, named: Named) -> Site:
    """One good package, for the device good:0, and six bad ones."""
    site = Site(tmp_path / "site")
    site.add("dougong-good", "good", "pkg_good:path", f"def path():\n    return {str(named('good'))!r}\n")
    site.add("raises", "raises", "pkg_raises:path", "raise OSError('driver 42 is missing')\n")
    site.add("lacks", "lacks", "pkg_lacks:path", "")
    site.add("exits", "exits", "pkg_exits:path", "import sys\ndef path():\n    sys.exit(3)\n")
    site.add("reenters", "reenters", "pkg_reenters:path", "import dougong\ndougong.device('reenters:0')\npath = ''\n")
    site.add("nofile", "nofile", "pkg_nofile:path", "path = '/nowhere/libdg_nofile.so'\n")
    site.add("number", "number", "pkg_number:path", "path = 7\n")
    return site


def json_of(done) -> dict[str, object]:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_import_looks_for_nothing_and_imports_no_package(site: Site, run_python) -> None:
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import dougong
        assert not [m for m in sys.modules if m.startswith("pkg_")], sys.modules
        assert "importlib.metadata" not in sys.modules
        assert dougong._core._loaded_plugins() == []
        names = dougong.device_names()
        assert {"good", "raises", "lacks", "exits", "reenters", "nofile", "number"} <= set(names), names
        assert not [m for m in sys.modules if m.startswith("pkg_")]
        assert dougong._core._loaded_plugins() == []
        x = dougong.tensor([1.0], device="good:0")
        assert (x + x).numpy().tolist() == [2.0]
        assert sorted(m for m in sys.modules if m.startswith("pkg_")) == ["pkg_good"]
    """
    assert run_python(code, site.folder).stderr == ""


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("raises", "OSError: driver 42 is missing"),
        ("lacks", "AttributeError: module 'pkg_lacks' has no attribute 'path'"),
        ("exits", "SystemExit: 3"),
        ("reenters", "asks for its own device"),
        ("nofile", "FileNotFoundError: there is no library /nowhere/libdg_nofile.so"),
        ("number", "TypeError: wanted the path of the library (str or Path), found int"),
    ],
)
def test_a_broken_entry_point_raises_its_first_error_when_its_device_is_used(
    site: Site, run_python, name: str, original: str
) -> None:
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import dougong
        messages = []
        for _ in range(2):
            try:
                dougong.device(f"{sys.argv[2]}:0")
            except dougong.IncompatibleError as error:
                messages.append(str(error))
                assert error.__cause__ is not None
        assert len(messages) == 2 and messages[0] == messages[1], messages
        assert dougong.device("good:0").name == "good:0"
        print(messages[0])
    """
    message = run_python(code, site.folder, name).stdout
    assert original in message and f"pkg_{name}:path" in message and "uninstall" in message


def test_importing_the_package_first_works_too(site: Site, run_python) -> None:
    site.add("early", "early", "pkg_early:path", "import dougong\npath = dougong.get_include()\n")
    run_python(
        "import sys; sys.path.insert(0, sys.argv[1]); import pkg_early, dougong; dougong.device('good:0')", site.folder
    )


def test_the_path_variable_takes_folders_and_files(named: Named, tmp_path: Path, run_python) -> None:
    (tmp_path / "empty").mkdir()
    value = os.pathsep.join(
        [str(named("one").parent), str(tmp_path / "empty"), str(named("two")), str(tmp_path / "gone"), ""]
    )
    code = """
        import dougong
        assert {"one", "two", "cpu"} <= set(dougong.device_names())
        assert dougong.device("one").name == "one:0" and dougong.device("two").name == "two:0"
        print([(n.where, n.text) for n in dougong._plugins.notes()])
    """
    notes = run_python(code, DOUGONG_PLUGIN_PATH=value).stdout
    assert "does not exist" in notes and "gone" in notes


def test_a_file_that_is_called_after_another_device_is_refused(named: Named, tmp_path: Path, run_python) -> None:
    shutil.copy(named("acme"), tmp_path / "libdg_beta.so")
    code = """
        import dougong
        try:
            dougong.device("beta:0")
        except dougong.IncompatibleError as error:
            print(error)
    """
    message = run_python(code, DOUGONG_PLUGIN_PATH=str(tmp_path)).stdout
    assert 'wanted "beta", the name that it is known by; found "acme"' in message


def test_a_privileged_process_ignores_the_path_variable(named: Named, run_python) -> None:
    code = """
        import dougong
        dougong._core._privileged = lambda: True
        assert "acme" not in dougong.device_names()
        assert dougong._plugins.notes()[0].where == "DOUGONG_PLUGIN_PATH"
    """
    run_python(code, DOUGONG_PLUGIN_PATH=str(named("acme").parent))


def test_the_path_variable_comes_before_entry_points_and_find_says_where(
    site: Site, named: Named, tmp_path: Path, run_python
) -> None:
    shutil.copy(named("good"), tmp_path / "libdg_good.so")
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import dougong
        print(dougong._plugins.find("good"))
        try:
            dougong._plugins.find("nothing")
        except dougong.IncompatibleError as error:
            print(error)
    """
    out = run_python(code, site.folder, DOUGONG_PLUGIN_PATH=str(tmp_path)).stdout.splitlines()
    assert out[0] == str(tmp_path / "libdg_good.so")
    assert "there is no plugin 'nothing': known here: cpu, exits, good" in out[1]


def test_a_given_path_comes_before_what_was_found_and_not_after_its_use(
    named: Named, tmp_path: Path, run_python
) -> None:
    shutil.copy(named("acme"), tmp_path / "libdg_acme.so")
    code = """
        import sys, dougong
        if sys.argv[2] == "after":
            dougong.device("acme:0")
        try:
            dougong.load_plugin(sys.argv[1])
        except dougong.IncompatibleError as error:
            print(error)
        assert dougong.device("acme:0").name == "acme:0"
        print(*dougong._core._loaded_plugins())
    """

    def output(when: str) -> str:
        found = str(named("acme").parent)
        return run_python(code, tmp_path / "libdg_acme.so", when, DOUGONG_PLUGIN_PATH=found).stdout

    assert str(named("acme")) not in output("before")
    message, loaded = output("after").splitlines()
    assert str(tmp_path) in message and str(named("acme")) in message and "path variable" in message
    assert str(tmp_path) not in loaded


def test_doctor_shows_everything_and_survives_everything(site: Site, named: Named, tmp_path: Path, run_python) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir()
    for name, switches in {
        "fine": [],
        "aborts": ["ABORT"],
        "hangs": ["HANG"],
        "fails": ["FAIL_INITIALIZE"],
        "zero": ["PLUGIN_SIZE=0"],
        "nochip": ["UNAVAILABLE"],
    }.items():
        shutil.copy(named(name, *switches), folder)
    shutil.copy(named("good"), folder)
    (folder / "libdg_Odd.so").write_bytes(b"")
    done = run_python(
        DOCTOR,
        PYTHONPATH=f"{site.folder}:{os.environ.get('PYTHONPATH', '')}",
        DOUGONG_PLUGIN_PATH=str(folder),
        check=False,
    )
    report = json_of(done)
    rows = {(row["name"], row["source"]): row for row in report["rows"]}
    status = {key: row["status"] for key, row in rows.items()}
    variable, entry = "path variable", "entry point"
    assert status[("fine", variable)] == status[("cpu", "built in")] == "works"
    assert status[("aborts", variable)] == "crashed" and "SIGABRT" in rows[("aborts", variable)]["reason"]
    assert "opening the library" in rows[("aborts", variable)]["reason"]
    assert status[("hangs", variable)] == "hangs" and "within 4 s" in rows[("hangs", variable)]["reason"]
    assert status[("fails", variable)] == "refused" and "driver not found 42" in rows[("fails", variable)]["reason"]
    assert status[("nochip", variable)] == "unavailable", "a plugin without its chip is no fault of anybody"
    assert status[("zero", variable)] == "refused" and "struct_size" in rows[("zero", variable)]["reason"]
    assert status[("good", variable)] == "works"
    assert status[("good", entry)] == "shadowed" and str(folder) in rows[("good", entry)]["reason"]
    for name in ("raises", "lacks", "exits", "reenters", "nofile", "number"):
        assert status[(name, entry)] == "refused", rows[(name, entry)]
    assert "driver 42 is missing" in rows[("raises", entry)]["reason"]
    assert [note["where"] for note in report["notes"]] == [str(folder / "libdg_Odd.so")]
    assert rows[("fine", variable)]["devices"][0]["device"] == "fine:0" and rows[("fine", variable)]["version"] == "1.0"
    assert done.returncode == 1


def test_doctor_calls_the_same_file_by_two_ways_harmless(site: Site, named: Named, run_python) -> None:
    for package in site.folder.glob("*.dist-info"):
        if "good" not in package.name:
            shutil.rmtree(package)
    environment = {
        "PYTHONPATH": f"{site.folder}:{os.environ.get('PYTHONPATH', '')}",
        "DOUGONG_PLUGIN_PATH": str(named("good").parent),
    }
    report = json_of(run_python(DOCTOR, **environment))
    assert [row["status"] for row in report["rows"] if row["name"] == "good"] == ["works", "same file"]


def test_doctor_for_people_and_devices(named: Named, run_python) -> None:
    variables = {
        "DOUGONG_PLUGIN_PATH": f"{named('acme', 'DEVICES=2').parent}:{named('fails', 'FAIL_INITIALIZE').parent}"
    }
    screen = run_python("from dougong._cli import main; main(['doctor'])", check=False, **variables)
    assert screen.returncode == 1
    assert re.search(r"acme\W+works\W+1\.0\W+acme:0, acme:1", screen.stdout)
    assert re.search(r"fails: plugin .*: initialize failed with INCOMPATIBLE: driver not found 42", screen.stdout)
    listing = run_python("from dougong._cli import main; main(['devices', '--json'])", **variables)
    devices = [row["device"] for row in json.loads(listing.stdout)]
    assert devices == sorted(devices) and {"acme:0", "acme:1", "cpu:0"} <= set(devices)  # and our own other plugins
    assert "not usable: fails" in listing.stderr


def test_help_is_fast_and_does_not_load_the_judge(run_python) -> None:
    code = """
        import sys
        from dougong._cli import main
        main(["--help"], standalone_mode=False)
        assert not {"dougong_conformance", "dougong_kernels", "rich", "copier", "numpy"} & set(sys.modules)
    """
    assert "conformance run acme:0" in run_python(code).stdout


def test_ops_lists_what_a_plugin_may_implement(run_python) -> None:
    ops = {
        op["name"]: op for op in json.loads(run_python("from dougong._cli import main; main(['ops', '--json'])").stdout)
    }
    assert ops["relu"]["gradient"] is True and ops["eq"]["gradient"] is False
    assert "float32" in ops["matmul"]["dtypes"]["T"] and len(ops) >= 40


def test_paths_for_builds_are_printed() -> None:
    import subprocess
    import sys

    for option, file in (("--include-dir", "dougong/dg_device.h"), ("--cmake-dir", "dougongConfig.cmake")):
        folder = subprocess.run(
            [sys.executable, "-m", "dougong", option], capture_output=True, text=True, check=True
        ).stdout.strip()
        assert (Path(folder) / file).is_file()
