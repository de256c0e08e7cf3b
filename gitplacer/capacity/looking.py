"""
Looking at a cluster resource by resource, with what may be left out left out.

Credentials with few rights still give a snapshot, as long as they have those that it cannot be without. What is missing is told once,
with the rule that would grant it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from gitplacer.capacity.access import METADATA_ONLY, Access, Again, ClusterError
from gitplacer.capacity.resources import Resource
from gitplacer.scheduler.reading import cursor_of, mappings

_Given = TypeVar("_Given")
_Found = TypeVar("_Found")


class Look:
    """The API, with what may be left out of it left out."""

    def __init__(self, access: Access, say: Callable[[str], None]) -> None:
        self._access, self._say = access, say
        self._kinds: dict[tuple[str, str], Mapping[str, str]] = {}

    def pages(self, resource: Resource, *, names_only: bool = False) -> Iterator[list[dict[str, Any]] | Again | None]:
        """A list page by page. None in the place of a page: nobody may read it, or there is no such resource."""
        accept = METADATA_ONLY if names_only else "application/json"
        try:
            for page in self._access.pages(resource.path, accept=accept):
                yield page if isinstance(page, Again) else mappings(page)
        except ClusterError as error:
            if not self._may_miss(resource, error):
                raise
            yield None

    def all(self, resource: Resource) -> list[dict[str, Any]] | None:
        """A list as a whole, for resources of which there are few. None as above."""
        found: list[dict[str, Any]] = []
        for page in self.pages(resource):
            if page is None:
                return None
            if isinstance(page, Again):
                found.clear()
                continue
            found += page
        return found

    def one(self, resource: Resource) -> dict[str, Any] | None:
        """One object; None where it is not there. Raises ClusterError where it may not be read and is needed."""
        try:
            found = self._access.get(resource.path)
        except ClusterError as error:
            if error.status == 404 or self._may_miss(resource, error):
                return None
            raise
        return found if isinstance(found, dict) else None

    def kinds(self, group: str, version: str) -> Mapping[str, str]:
        """The kinds that a version of an API group has, each with its name in URLs. Asked once. Raises ClusterError."""
        if (group, version) not in self._kinds:
            listed = cursor_of(self._access.get(f"/apis/{group}/{version}")).items("resources")
            self._kinds[group, version] = {
                item.text("kind"): name for item in reversed(listed) if "/" not in (name := item.text("name"))
            }
        return self._kinds[group, version]

    def told(self, what: str, read: Callable[[_Given], _Found], given: _Given) -> _Found | None:
        """What is made of some objects; None, and told, where a snapshot has no words for it."""
        try:
            return read(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            self._say(f"cannot say how {what} are, so they are left out: {where}: {first['msg']}")
            return None

    def tell(self, message: str) -> None:
        self._say(message)

    def _may_miss(self, resource: Resource, error: ClusterError) -> bool:
        """Whether a snapshot can do without; who can grant it is told how. What is not served is not there."""
        if error.status == 404 and resource.group:
            return True
        if error.status != 403:
            return False
        if not resource.lost:
            raise ClusterError(
                f"may not {resource.verb} {resource.name_in_url}: {error}",
                f"grant {resource.rule}; deploy/snapshot/rbac.yaml has all that is needed",
                status=403,
            ) from None
        what = f"{resource.namespace}/{resource.name}" if resource.name else resource.name_in_url
        self._say(f"may not {resource.verb} {what}, so {resource.lost}; the rule is {resource.rule}")
        return True
