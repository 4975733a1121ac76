"""
Where pyiceberg's own configuration comes from: `PYICEBERG_HOME`, the home directory and variables, and nowhere else.

Called by `catalogs.py` before any catalog is made. pyiceberg would take a `.pyiceberg.yaml` of the current directory, too:
whoever may write there would choose addresses, logins and classes of every catalog. Read next: `guard.py`.
"""

from __future__ import annotations

import os
from typing import Any

from pyiceberg import catalog as catalog_module
from pyiceberg.utils.config import PYICEBERG_YML, Config

_read = Config._from_configuration_files


def forget_here() -> None:
    """Have pyiceberg look for its file where the operator's are only. May be called again."""
    if Config._from_configuration_files is not _of_operator:
        Config._from_configuration_files = staticmethod(_of_operator)  # type: ignore[method-assign]
        # It has looked when it was imported.
        catalog_module._ENV_CONFIG = Config()


def _of_operator() -> Any:
    places = [os.environ.get("PYICEBERG_HOME"), os.path.expanduser("~")]
    # It looks into them in this order, and into the current directory when none has the file.
    return _read() if any(place and os.path.isfile(os.path.join(place, PYICEBERG_YML)) for place in places) else None
