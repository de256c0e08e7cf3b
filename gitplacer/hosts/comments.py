"""
One comment on a pull, kept up to date.

It is found again by a marker that readers do not see, and by whose it is: the marker can be copied by anybody, so a comment of
somebody else is never touched. What is too long for one comment is several, in order; they are edited in place, missing ones are
added at the end, and those that are no longer needed are deleted. Nothing is written that stands there already.

To add a comment is the one request that must not be sent twice. If no answer came, the comments are read again, and what has
landed after all is found. Nor should two runs that began at the same time, and found nothing, leave a comment each: whoever has added one
looks once more, and of too many the first are those that stay, for both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.formats.markdown import marker
from gitplacer.hosts.host import Comment, Host, HostError
from gitplacer.redactor import redact
from gitplacer.settings import UsageError

_MARKER = re.compile(r"\A<!-- gitplacer:plan(?:[ :][^\n]*?)? -->\s*")
_ROUNDS = 3


class Upserted(Struct, frozen=True):
    """What became of our comments: how many were made, edited, left as they were and deleted; `url` is that of the first."""

    url: str
    made: int = 0
    edited: int = 0
    kept: int = 0
    deleted: int = 0


def ours(host: Host, number: int, comment_id: str = "") -> list[Comment]:
    """Our comments of this id on a pull, in order."""
    first = marker(comment_id)
    found = [each for each in host.comments(number) if each.is_ours and _begins(each.body, first)]
    return sorted(found, key=lambda each: each.id)


def _begins(body: str, first: str) -> bool:
    return body.replace("\r\n", "\n").partition("\n")[0].strip() == first


def upsert(host: Host, number: int, pages: Sequence[str], comment_id: str = "") -> Upserted:
    """
    Make the pages our comments of this id. Raises UsageError if a page is too long for the host, before anything is written, and
    HostError.
    """
    bodies = [_marked(redact(page), comment_id) for page in pages]
    for place, body in enumerate(bodies, 1):
        if len(body) > host.longest_body:
            raise UsageError(
                f"page {place} has {len(body)} characters, and a comment may have {host.longest_body}",
                "write shorter pages, and point to an artefact for the rest",
            )
    for last in (False,) * (_ROUNDS - 1) + (True,):
        try:
            done = _once(host, number, bodies, comment_id)
            return _beside_others(host, number, bodies, comment_id, done) if done.made else done
        except HostError as error:
            if last or not error.may_have_happened:
                raise
    raise AssertionError("unreachable: the last round returns or raises")


def _beside_others(host: Host, number: int, bodies: Sequence[str], comment_id: str, done: Upserted) -> Upserted:
    """What is done in all once nobody else's run has added the same beside us. That it cannot be seen is no failure: it is all there."""
    try:
        more = _once(host, number, bodies, comment_id)
    except HostError:
        return done
    return replace(
        done,
        url=more.url,
        made=done.made + more.made,
        edited=done.edited + more.edited,
        deleted=done.deleted + more.deleted,
    )


def _once(host: Host, number: int, bodies: Sequence[str], comment_id: str) -> Upserted:
    found = ours(host, number, comment_id)
    edited = 0
    for comment, body in zip(found, bodies, strict=False):
        if _plain(comment.body) != _plain(body):
            host.edit_comment(number, comment.id, body)
            edited += 1
    added = [host.add_comment(number, body) for body in bodies[len(found) :]]
    surplus = found[len(bodies) :]
    for comment in surplus:
        host.delete_comment(number, comment.id)
    first = [*found, *added]
    return Upserted(
        url=first[0].url if first and bodies else "",
        made=len(added),
        edited=edited,
        kept=min(len(found), len(bodies)) - edited,
        deleted=len(surplus),
    )


def _plain(body: str) -> str:
    """A body as hosts keep it: their line ends, and no blanks around it."""
    return body.replace("\r\n", "\n").strip()


def _marked(page: str, comment_id: str) -> str:
    """A page with our marker, in place of the one that it may begin with."""
    return f"{marker(comment_id)}\n{_MARKER.sub('', page.lstrip(), count=1)}"
