# SPDX-License-Identifier: MIT OR Apache-2.0
"""The virtual-time kernel: where its source comes from, how it is built, and where it is kept.

`image(hz)` is what the Linux engine boots. Everything is made in the user's cache folder; nothing else is written.
"""

from etalon.kernel.build import Progress, Status, image
from etalon.kernel.cache import LIBRARIES, find
from etalon.kernel.recipe import DEFAULT_HZ

__all__ = ["DEFAULT_HZ", "LIBRARIES", "Progress", "Status", "find", "image"]
