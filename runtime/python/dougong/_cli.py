"""The command `dougong`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from ._version import __version__

_PASS_ON = {"ignore_unknown_options": True, "help_option_names": [], "allow_interspersed_args": False}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dougong")
def main() -> None:
    """One device plugin for every deep-learning framework, and a proof that it is right.

    \b
    A vendor begins with
      dougong new acme                 write the project of a plugin for the devices acme:0, acme:1, ...
      dougong conformance run acme:0   judge it, and learn what to write next
    \b
    A user begins with
      dougong devices                  what is there
      dougong doctor                   why something is not there

    For builds: `python -m dougong --include-dir` and `python -m dougong --cmake-dir`.
    """


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))


def _bytes(count: int) -> str:
    """A size for people; the empty text for an unknown one."""
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.4g} {unit}" if count else ""


@main.command()
@click.option(
    "--json", "as_json", is_flag=True, help="A list of objects with device, chip, plugin, version, memory_total."
)
def devices(as_json: bool) -> None:
    """List the devices that can be used.

    Each plugin is opened in a process of its own, so that a broken one does not hide the others; `dougong doctor` says
    what is wrong with it.
    """
    from . import _doctor

    rows = _doctor.examine()
    found = [{**device, "plugin": row.name, "version": row.version} for row in rows for device in row.devices]
    if as_json:
        _print_json(found)
    else:
        _show_devices(found)
    bad = sorted({row.name for row in rows if row.status in _doctor.BAD})
    if bad:
        click.echo(f"not usable: {', '.join(bad)}; `dougong doctor` says why", err=True)


def _show_devices(found: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table("device", "chip", "memory", "units", "plugin")
    for device in found:
        memory, units = _bytes(device["memory_total"]), str(device["compute_units"] or "")
        table.add_row(device["device"], device["chip"], memory, units, f"{device['plugin']} {device['version']}")
    _show(table)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Everything as one object: rows, notes, versions.")
@click.option("--deadline", default=20.0, show_default=True, help="Seconds that one plugin may take.")
def doctor(as_json: bool, deadline: float) -> None:
    """Explain on one screen why each plugin was or was not loaded.

    \b
    Where plugins are found, the first one of a name wins:
      DOUGONG_PLUGIN_PATH   folders with libdg_<name>.so, or such files, separated by colons
      built in              dougong's own plugins
      entry point           of installed packages, group dougong.plugins

    Exit code 1 if a plugin that was found cannot be used.
    """
    from . import _doctor, _plugins

    rows, notes = _doctor.examine(deadline), _plugins.notes()
    if as_json:
        _print_json(
            {
                "dougong": __version__,
                "rows": [row.as_dict() for row in rows],
                "notes": [{"where": note.where, "text": note.text} for note in notes],
            }
        )
    else:
        _show_doctor(rows, notes)
    if any(row.status in _doctor.BAD for row in rows):
        sys.exit(1)


def _show_doctor(rows: list[Any], notes: list[Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from . import _doctor

    table = Table("plugin", "status", "version", "devices", "source")
    for row in rows:
        colour = "red" if row.status in _doctor.BAD else "green" if row.status == _doctor.WORKS else "yellow"
        names = ", ".join(device["device"] for device in row.devices)
        if len(row.devices) > 4:
            names = f"{row.devices[0]['device']} to {row.devices[-1]['device']}"
        source = f"{row.source}: {row.path or row.where}"
        cells = (row.name, f"[{colour}]{row.status}[/]", escape(row.version or ""), names, escape(source))
        table.add_row(*cells)
    _show(table)
    for row in rows:
        if row.reason:
            click.echo(f"{row.name}: {row.reason}")
    for note in notes:
        click.echo(f"{note.where}: {note.text}")
    if not rows:
        click.echo("no plugin was found: install one, or set DOUGONG_PLUGIN_PATH")


def _show(table: Any) -> None:
    from rich.console import Console

    console = Console()
    console.print(table) if console.is_terminal else Console(width=200).print(table)


@main.command()
def version() -> None:
    """Print the versions of dougong, of the device API and of Python."""
    from . import _core

    click.echo(f"dougong {__version__}")
    click.echo(f"device API {_core._abi_version()}")
    click.echo(f"Python {sys.version.split()[0]}")


@main.command()
@click.argument("name")
@click.option("--directory", type=click.Path(), help="Where to write it. Default: ./NAME")
def new(name: str, directory: str | None) -> None:
    """Write the project of a new plugin: NAME:0 will be its first device.

    The project builds at once, over host memory, and trains with the CPU's help; each kernel that you add takes work
    over to the chip. NAME is a lower-case letter, then lower-case letters, digits and underscores.
    """
    from . import _new

    try:
        target = _new.create(name, directory)
    except (ValueError, FileExistsError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(_new.report(name, target))


@main.command(context_settings=_PASS_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def conformance(arguments: tuple[str, ...]) -> None:
    """Judge a device: `dougong conformance run acme:0`. See `dougong conformance --help`."""
    from dougong_conformance.cli import conformance as group

    group.main(args=list(arguments), prog_name="dougong conformance")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="A list of objects with name, family, dtypes, gradient, summary.")
def ops(as_json: bool) -> None:
    """List the ops, with the dtypes that each allows and whether it has a gradient.

    A plugin may implement any of them. What it leaves out is made of other ops if it has those (a composite), or is
    computed on the CPU, and counted. `kernel` lists the devices that are there and have a kernel of their own.
    """
    from dougong_kernels import definitions

    owners = _owners()
    found = [_describe_op(op, owners.get(op.name, [])) for op in definitions.load_all()]
    if as_json:
        _print_json(found)
        return
    from rich.table import Table

    table = Table("op", "family", "kind", "dtypes", "gradient", "kernel", "summary")
    for op in found:
        dtypes = "; ".join(f"{variable}: {', '.join(names)}" for variable, names in op["dtypes"].items())
        gradient, owners_text = "yes" if op["gradient"] else "no", ", ".join(op["kernels"]) or "none"
        table.add_row(op["name"], op["family"], op["kind"], dtypes, gradient, owners_text, op["summary"])
    _show(table)


def _owners() -> dict[str, list[str]]:
    """For each op the plugins whose first device has a kernel for it; each is asked in a process of its own."""
    from . import _doctor

    owners: dict[str, list[str]] = {}
    for row in _doctor.examine():
        for op in row.devices[0]["kernels"] if row.devices else ():
            owners.setdefault(op, []).append(row.name)
    return owners


def _describe_op(op: Any, owners: list[str]) -> dict[str, Any]:
    return {
        "name": op.name,
        "family": op.family,
        "kind": "composite" if op.decompose else "primitive",
        "kernels": owners,
        "dtypes": {variable.name: list(variable.dtypes) for variable in op.types},
        "gradient": op.differentiable,
        "summary": op.summary,
    }


if __name__ == "__main__":
    main()
