# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes kernel/answers: what kconfig makes of kernel/config. For developers of the kernel; needs flex and bison.

python tools/kernel_answers.py

Run it after a change of kernel/config, or of a patch that changes a Kconfig file.
"""

from __future__ import annotations

import argparse
import shutil
import sys

from etalon import files, kernel
from etalon.errors import EtalonError
from etalon.kernel import answers
from etalon.kernel.build import asked
from etalon.kernel.recipe import recipe


def main() -> None:
    """Asks and writes."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    lacking = [name for name in ("flex", "bison") if shutil.which(name) is None]
    if lacking:
        sys.exit(f"error: {' and '.join(lacking)} are missing: apt-get install {' '.join(lacking)}")
    try:
        made = recipe(kernel.DEFAULT_HZ)
        place = made.root / answers.ANSWERS
        files.put(place, answers.kept(asked(made), made.config))
    except EtalonError as error:
        sys.exit(f"error: {error}")
    print(place)


if __name__ == "__main__":
    main()
