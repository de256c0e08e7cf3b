"""
What a host's refusal means, in a line and a hint.

A host's answer is shown, because it often says best what is wrong; but it comes from outside, so it is one line, cut, and without
our token, should the host have sent that back.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.deadlines import Deadline
from gitplacer.git.program import one_line
from gitplacer.hosts.access import TOKEN_VARIABLE, URL_VARIABLE, Access
from gitplacer.hosts.host import HostError
from gitplacer.redactor import redact

_LONGEST = 200
_RIGHTS: Mapping[str, str] = {
    "github": "it needs write access to pull requests, commit statuses and contents; in a workflow that is `permissions:`",
    "gitlab": "it needs the scope api and the role Developer; CI_JOB_TOKEN is never enough",
}


def refused(access: Access, doing: str, status: int, said: str, *, writes: bool, limited: bool = False) -> HostError:
    """The error for an answer of a host. `writes`: the request makes something anew each time that it is sent."""
    where = f"{access.host} ({access.repo})"
    answer = _shown(said)
    hints = {
        401: f"the token is wrong, has ended, or is for another host: set {TOKEN_VARIABLE}, and {URL_VARIABLE} for a host of your own",
        403: f"the token may not do that: {_RIGHTS[access.host]}",
        404: "check --repo and the number; a host says the same of what the token may not see",
    }
    hint = hints.get(status, "")
    if status == 429 or limited:
        hint = "it was asked too often: try again later, and with a token of your own for more requests"
    elif status >= 500:
        hint = "the host is not well: try again later"
    elif status in (400, 409, 422):
        hint = "the host does not take it as it is; its answer says why"
    told = f"{where}: cannot {doing}: {answer or 'no reason given'} ({status})"
    return HostError(told, hint, status=status, may_have_happened=writes and status >= 500)


def unreached(access: Access, doing: str, error: Exception, deadline: Deadline, *, writes: bool) -> HostError:
    """The error for a request that got no answer, none that can be understood, or one that took longer than its deadline."""
    where = _shown(access.url)
    if deadline.was_missed:
        told = f"cannot {doing}: no usable answer from {where}: {deadline}"
        hint = f"the host, or a proxy on the way to it, is not well: try again later, or check {URL_VARIABLE}"
        return HostError(told, hint, may_have_happened=writes)
    said = f"{type(error).__name__}: {_shown(str(error))}"
    if isinstance(error, (AttributeError, LookupError, TypeError, AssertionError)):
        said = "it is not what the API says"  # the client library stumbled over it: a page to log in, or another program's JSON
    told = f"cannot {doing}: no usable answer from {where}: {said}"
    hint = f"check {URL_VARIABLE}, the network and the proxy; a host that redirects has another address"
    return HostError(told, hint, may_have_happened=writes)


def _shown(text: str) -> str:
    """One short line without the token."""
    return one_line(redact(text), _LONGEST)
