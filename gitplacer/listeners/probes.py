"""
Probes and metrics: `/healthz`, `/readyz`, `/metrics`.

`/healthz` is 200 as long as the loop turns, whatever the Git host does. `/readyz` is 200 once the source has been read. Each says why in a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitplacer.listeners.serving import Bounds
from gitplacer.telemetry.health import Health, State
from gitplacer.telemetry.metrics import Metrics

BOUNDS = Bounds(connections=32, seconds=15.0)


def application(health: Health, metrics: Metrics) -> Any:
    """The ASGI application."""
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route, Router

    def probe(ask: Callable[[], State]) -> Callable[[Request], Any]:
        def answer(request: Request) -> Any:
            state = ask()
            return PlainTextResponse(f"{state.why}\n", 200 if state.good else 503)

        return answer

    def exposed(request: Request) -> Any:
        return Response(metrics.exposed(), media_type=metrics.content_type)

    return Router(
        [
            Route("/healthz", probe(health.alive)),
            Route("/readyz", probe(health.ready)),
            Route("/metrics", exposed),
        ],
        redirect_slashes=False,
    )
