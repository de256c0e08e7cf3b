"""`python -m gitplacer`."""

import sys

from gitplacer.cli import main

sys.exit(main())
