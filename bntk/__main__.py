"""``python -m bntk`` is the ``bntk`` command."""

import sys

from bntk.cli import main

sys.exit(main())
