"""Holds the device API to what was promised: `dg_device.abi` has every offset, type and value of the public headers.

    lock.py           checks
    lock.py --write   writes what was appended; what was moved or removed is refused, unless DG_ABI_MAJOR changed

Exit codes: 0 the same, 1 broken, 2 could not check, 3 appended and not yet written: a decision, see CONTRIBUTING.md.
The drafts in ext/draft are not locked: they may change. The offsets are those of LP64.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADERS = ("dg_types.h", "dg_kernel.h", "dg_ops.h", "dg_device.h", "ext/dg_compiler.h")
UNLOCKED = {"DG_ABI_MINOR", "DG_ABI_VERSION", "DG_EXPORT"}
SAME, BROKEN, CANNOT_CHECK, APPENDED = range(4)
MAJOR = "define DG_ABI_MAJOR"

Layout = dict[str, str]  # "field dg_plugin_t.name" -> "offset 16 size 8 const char *", in the order of the headers


class CannotCheck(Exception):
    """The check itself failed: that is no verdict on the headers."""


def dump(include: Path, compiler: str = "", language: str = "c") -> Layout:
    """The layout of the headers below ``include``, as the compiler sees it."""
    text = _declarations(include)
    structs = {name: _fields(body) for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.DOTALL)}
    if not structs:
        raise CannotCheck(f"no struct found in {include}/dougong")
    layout = _defines(text) | _typedefs(text)
    measured = _measure(include, _program(structs, _enumerators(text)), compiler, language)
    for line in measured.splitlines():
        kind, name, value = line.split(" ", 2)
        owner, _, field = name.partition(".")
        layout[f"{kind} {name}"] = f"{value} {structs[owner][field]}" if kind == "field" else value
    _check_no_holes(structs, layout)
    return layout


def compare(old: Layout, new: Layout) -> tuple[list[str], list[str]]:
    """What was broken, and what was appended, one sentence each."""
    broken = [f"{key} is gone, it was: {old[key]}" for key in old if key not in new]
    for key in old:
        if key in new and old[key] != new[key] and not key.startswith("struct "):
            broken.append(f"{key} changed\n    wanted {old[key]}\n    found  {new[key]}")
    appended = []
    for key in new:
        if key not in old:
            fault = _append_fault(key, old, new)
            (broken if fault else appended).append(f"{key} {fault}" if fault else f"{key} {new[key]}")
    return broken, appended


def _append_fault(key: str, old: Layout, new: Layout) -> str:
    kind, name = key.split(" ", 1)
    owner = name.partition(".")[0]
    size = old.get(f"struct {owner}")
    if kind != "field" or size is None:
        return ""
    if f"field {owner}.struct_size" not in old:
        return f"was added, but {owner} has no struct_size and never grows"
    if int(new[key].split()[1]) < int(size.split()[1]):
        return f"lies inside the old {owner}, where no struct_size tells of it: append it, behind explicit padding"
    return ""


def _declarations(include: Path) -> str:
    try:
        text = "\n".join((include / "dougong" / header).read_text(encoding="utf-8") for header in HEADERS)
    except OSError as error:
        raise CannotCheck(f"cannot read the headers: {error}") from error
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def _defines(text: str) -> Layout:
    found = re.findall(r"^#define (DG_\w+) (\S.*?)\s*$", text, re.MULTILINE)
    return {f"define {name}": value for name, value in found if name not in UNLOCKED}


def _typedefs(text: str) -> Layout:
    """Names for integers and functions: their width and their parameters are part of the layout."""
    plain = re.findall(r"typedef (\w+) (dg_\w+);", text)
    functions = re.findall(r"typedef ([^;{]*?)\(\*(dg_\w+)\)\(([^;]*)\);", text)
    found = {f"type {name}": target for target, name in plain}
    return found | {f"type {name}": f"{_squeeze(result)} (*)({_types(args)})" for result, name, args in functions}


def _enumerators(text: str) -> list[str]:
    bodies = re.findall(r"\benum \{(.*?)\}", text, re.DOTALL)
    return [name for body in bodies for name in re.findall(r"(DG_\w+) =", body)]


def _fields(body: str) -> dict[str, str]:
    """Field names and their types, without the names of parameters."""
    fields = {}
    for declaration in filter(None, map(_squeeze, body.split(";"))):
        slot = re.fullmatch(r"(.*?)\(\*(\w+)\)\((.*)\)", declaration)
        plain = re.fullmatch(r"(.*?)(\w+)((?:\[\w+\])?)", declaration)
        if slot:
            fields[slot[2]] = f"{slot[1].strip()} (*)({_types(slot[3])})"
        elif plain and "," not in declaration:
            fields[plain[2]] = _squeeze(plain[1] + plain[3])
        else:
            raise CannotCheck(f"cannot read the declaration {declaration!r}: wanted one field")
    return fields


def _types(parameters: str) -> str:
    return ", ".join(re.sub(r"(?<=[\s*])\w+$", "", _squeeze(p)).strip() for p in parameters.split(","))


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _program(structs: dict[str, dict[str, str]], enumerators: list[str]) -> str:
    lines = [f'#include "dougong/{header}"' for header in HEADERS]
    lines += ["#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    lines += [f'  printf("enum {name} %lld\\n", (long long){name});' for name in enumerators]
    for struct, fields in structs.items():
        lines.append(f'  printf("struct {struct} size %zu\\n", sizeof(struct {struct}));')
        for field in fields:
            place = f"offsetof(struct {struct}, {field}), sizeof(((struct {struct} *)0)->{field})"
            lines.append(f'  printf("field {struct}.{field} offset %zu size %zu\\n", {place});')
    return "\n".join([*lines, "  return 0;", "}", ""])


def _measure(include: Path, program: str, compiler: str, language: str) -> str:
    compiler = compiler or os.environ.get("CC", "cc")
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder, "layout")
        command = [compiler, "-x", language, "-I", str(include), "-o", str(binary), "-"]
        try:
            subprocess.run(command, input=program, text=True, check=True, capture_output=True)
            return subprocess.run([binary], text=True, check=True, capture_output=True).stdout
        except OSError as error:
            raise CannotCheck(f"cannot run the compiler {compiler!r}: {error}") from error
        except subprocess.CalledProcessError as error:
            raise CannotCheck(f"{compiler} failed:\n{error.stderr}") from error


def _check_no_holes(structs: dict[str, dict[str, str]], layout: Layout) -> None:
    """A field that the parser missed would leave a hole of its size: a checker must not overlook what it checks."""
    for struct, fields in structs.items():
        end = 0
        for field in fields:
            offset, size = (int(word) for word in layout[f"field {struct}.{field}"].split()[1:4:2])
            if offset - end >= 8:
                raise CannotCheck(f"{struct} has a hole before {field}: a field there was not understood")
            end = offset + size
        if int(layout[f"struct {struct}"].split()[1]) - end >= 8:
            raise CannotCheck(f"{struct} has a hole at its end: a field there was not understood")


def read(path: Path) -> Layout:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    try:
        return {f"{kind} {name}": value for kind, name, value in (line.split(" ", 2) for line in lines)}
    except ValueError:
        raise CannotCheck(f"{path} is damaged: wanted lines of a kind, a name and a value") from None


def write(path: Path, layout: Layout) -> None:
    head = "# The device API as promised. Written by lock.py --write, which appends and never moves. Do not edit.\n"
    path.write_text(head + "".join(f"{key} {value}\n" for key, value in layout.items()), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write what was appended")
    parser.add_argument("--include", type=Path, default=HERE.parent / "include", help="the folder with dougong/*.h")
    parser.add_argument("--lock", type=Path, default=HERE / "dg_device.abi", help="the lock file")
    options = parser.parse_args(arguments)
    try:
        return _run(options.include, options.lock, options.write)
    except (CannotCheck, OSError) as error:
        print(f"could not check the ABI: {error}", file=sys.stderr)
        return CANNOT_CHECK


def _run(include: Path, lock: Path, writing: bool) -> int:
    new = dump(include)
    if not lock.exists() and not writing:
        raise CannotCheck(f"there is no lock file {lock}: write it with --write")
    old = read(lock) if lock.exists() else {}
    broken, appended = compare(old, new)
    if broken and not (writing and old[MAJOR] != new[MAJOR]):
        print("\n".join(["the ABI is broken; moving and removing need a new DG_ABI_MAJOR:", *broken]))
        return BROKEN
    if writing:
        write(lock, new)
    elif appended:
        print("\n".join(["appended to the ABI; if that is what you want, run with --write:", *appended]))
        return APPENDED
    print(f"the ABI is as promised: {len(new)} entries")
    return SAME


if __name__ == "__main__":
    sys.exit(main())
