# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which pages' numbers are older than the tree; stamps those that were measured again.

python docs/measured.py                              # one line a page
python docs/measured.py --accept docs/hosts.md ...   # these have just been measured with this core and kernel
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from etalon import pages
from etalon.errors import EtalonError


def main() -> None:
    """Lists or stamps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accept", nargs="+", type=Path, default=[], metavar="PAGE")
    try:
        for page in parser.parse_args().accept:
            pages.accept(page)
        records = pages.golden()
        for path in pages.every():
            name = path.relative_to(pages.ROOT).as_posix()
            text = path.read_text(encoding="utf-8")
            if pages.stamp_of(text, name) is not None:
                print(pages.stale(text, name, records) or f"{name}: as the tree measures it.")
    except (EtalonError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
