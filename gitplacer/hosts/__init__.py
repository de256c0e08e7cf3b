"""
Hosts of repositories, with pull requests, comments and statuses.

A host is a module with a class like `Host`; it is loaded when it is asked for, because its client library is an extra.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from types import MappingProxyType

from gitplacer.hosts.access import Access
from gitplacer.hosts.host import Host
from gitplacer.settings import UsageError

HOSTS: Mapping[str, str] = MappingProxyType(
    {"github": "gitplacer.hosts.github:GitHub", "gitlab": "gitplacer.hosts.gitlab:GitLab"}
)
"""Each host with its module and class."""


def opened(access: Access) -> Host:
    """The repository on its host. Nothing is asked yet. Raises UsageError if the client library is not installed."""
    module, _, name = HOSTS[access.host].partition(":")
    try:
        found: Host = getattr(importlib.import_module(module), name)(access, time.sleep)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("gitplacer"):
            raise
        raise UsageError(
            f"{access.host} needs a Python library that is not installed: {error.name}",
            "pip install 'gitplacer[hosts]'",
        ) from None
    return found
