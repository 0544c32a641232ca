"""The exported symbols of a 64-bit little-endian ELF library, read from its dynamic symbol table."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

DYNSYM = 11  # SHT_DYNSYM
GLOBAL, WEAK, UNIQUE = 1, 2, 10  # STB_*
LINKER_MADE = {"_init", "_fini", "_edata", "_end", "__bss_start"}


class NotElf(Exception):
    """The file is not a 64-bit little-endian ELF file."""


@dataclass(frozen=True)
class _Section:
    type: int
    offset: int
    size: int
    link: int


def exported_symbols(path: Path) -> list[str]:
    """Names that other libraries can bind to, without those that every linker makes."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise NotElf(f"{path} is not a 64-bit little-endian ELF file")
    sections = _sections(data)
    names: set[str] = set()
    for section in sections:
        if section.type == DYNSYM:
            strings = sections[section.link]
            names.update(_defined(data, section, strings))
    return sorted(names - LINKER_MADE)


def _sections(data: bytes) -> list[_Section]:
    start = struct.unpack_from("<Q", data, 0x28)[0]
    entry_size, count = struct.unpack_from("<HH", data, 0x3A)
    found = []
    for i in range(count):
        _, kind, _, _, offset, size, link = struct.unpack_from("<IIQQQQI", data, start + i * entry_size)
        found.append(_Section(kind, offset, size, link))
    return found


def _defined(data: bytes, symbols: _Section, strings: _Section):
    for at in range(symbols.offset, symbols.offset + symbols.size, 24):
        name, info, other, section = struct.unpack_from("<IBBH", data, at)
        binding, visibility = info >> 4, other & 3
        if section != 0 and binding in (GLOBAL, WEAK, UNIQUE) and visibility in (0, 3):
            begin = strings.offset + name
            yield data[begin : data.index(b"\0", begin)].decode("utf-8", "replace")
