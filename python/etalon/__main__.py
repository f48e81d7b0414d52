"""`python -m etalon` is `etalon`."""

import sys

from etalon.cli import main

sys.exit(main())
