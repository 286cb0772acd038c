"""`python -m liger_perf.action`."""

import sys

from liger_perf.action.main import main

sys.exit(main())
