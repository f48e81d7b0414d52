# SPDX-License-Identifier: MIT OR Apache-2.0
"""The API's paths."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from etalon.errors import EtalonError
from etalon_otcp import explain
from etalon_otcp.api import metrics
from etalon_otcp.api import views as shown
from etalon_otcp.api.models import (
    ErrorModel,
    HealthModel,
    LinkModel,
    MeasureModel,
    RolloutModel,
    RouteModel,
    RoutesModel,
    TopologyModel,
)
from etalon_otcp.api.service import Host, Service
from etalon_otcp.paths import Unknown

RETRY_S = 1


def make(service: Service) -> FastAPI:
    """The application."""
    app = FastAPI(
        title="OTCP controller",
        version="1",
        description="Computes TCP parameters for each pair of hosts. docs/otcp-protocol.md is what hosts need.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        responses={code: {"model": ErrorModel} for code in (401, 403, 429)},
    )
    _describe(app)
    _errors(app, service)
    _for_hosts(app, service)
    _for_operators(app, service)
    if service.tokens is None:  # no web page may make a browser on this machine ask
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]"])
    return app


def _describe(app: FastAPI) -> None:
    """OpenAPI, with what each path asks for: a token in all but the status."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        found = describe()
        token = {"type": "http", "scheme": "bearer", "description": "A host's or an operator's."}
        found.setdefault("components", {})["securitySchemes"] = {"token": token}
        for path, methods in found["paths"].items():
            for method in methods.values():
                method["security"] = [{"token": []}, *([{}] if path == "/v1/health" else [])]
        return found

    app.openapi = openapi  # type: ignore[method-assign]


def _errors(app: FastAPI, service: Service) -> None:
    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return JSONResponse({"error": f"{'.'.join(map(str, first['loc']))}: {first['msg']}"}, 422)

    app.add_middleware(Guard, service=service)


class Guard:
    """Finds out who asks, before anything else is done for them: whatever the path, nobody may ask too often.

    Refuses bodies, counts answers by status, and writes down who asked for what.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        service, address = self._service, (scope.get("client") or ("",))[0]
        headers = dict(scope.get("headers", ()))
        who = service.identity(headers.get(b"authorization", b"").decode("latin-1"))
        scope.setdefault("state", {})["identity"] = who

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                service.requests[message["status"]] += 1
                if message["status"] != 429:  # strangers may ask without end
                    asked = scope["method"], scope["path"], message["status"]
                    service.controller.audit.asked(str(who or ""), address, *asked)
            await send(message)

        answer: ASGIApp = self._app
        if wait := service.wait_s(who, address):
            after = {"Retry-After": str(int(wait) + 1)}
            answer = JSONResponse({"error": "too many requests"}, 429, after)
        elif headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers:
            end = {"Connection": "close"}  # else all of the body would be read
            answer = JSONResponse({"error": "no body is expected"}, 413, end)
        await answer(scope, receive, counted)


def _for_hosts(app: FastAPI, service: Service) -> None:
    only = [Depends(service.of_host)]

    @app.get(
        "/v1/hosts/{host}/routes",
        response_model=RoutesModel,
        dependencies=only,
        summary="A host's routes",
    )
    async def routes(host: Host) -> Response:
        document = service.document(host)
        if document is None:
            headers = {"Retry-After": str(RETRY_S), "OTCP-Routes": "none"}
            raise HTTPException(503, "there are no routes yet", headers)
        return Response(document.to_json(), media_type="application/json")

    @app.get(
        "/v1/hosts/{host}/events",
        dependencies=only,
        summary="A host's routes, pushed",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    async def events(
        request: Request,
        host: Host,
        last_event_id: Annotated[str, Header(max_length=64)] = "",
    ) -> Response:
        token, opened_by = request.headers.get("authorization", ""), service.who(request)

        def allowed() -> bool:
            return service.identity(token) == opened_by

        stream = service.hub.listen(host, lambda: service.document(host), last_event_id, allowed)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


def _for_operators(app: FastAPI, service: Service) -> None:
    controller = service.controller
    only = [Depends(service.operator)]

    @app.get("/v1/topology", dependencies=only, summary="What is up")
    async def topology() -> TopologyModel:
        return shown.topology(controller.view, time.time())

    @app.get("/v1/links", dependencies=only, summary="Links with what is known of them")
    async def links() -> list[LinkModel]:
        return shown.links(controller.view, time.time())

    @app.get("/v1/pairs/{source}/{target}", dependencies=only, summary="Why a pair is told what")
    async def pair(source: Host, target: Host) -> dict[str, Any]:
        view = controller.view
        for name in (source, target):
            if name not in view.network.hosts:
                raise HTTPException(404, f"there is no host {name}, or it was not found yet")
        if source == target:
            raise HTTPException(404, f"{source} needs no network to reach itself")
        hosts = view.network.hosts
        try:
            found = explain.pair(
                view.routes, view.policy, hosts[source], hosts[target], time.time()
            )
        except Unknown as reason:
            raise HTTPException(404, str(reason)) from None
        return found | {"route": shown.route_of(view, source, target)}

    _for_rollouts(app, service)

    @app.post("/v1/measure", dependencies=only, status_code=202, summary="Measure all again")
    async def measure() -> MeasureModel:
        service.measuring.request()
        return _progress(service)

    @app.get("/v1/measure", dependencies=only, summary="How far measuring is")
    async def progress() -> MeasureModel:
        return _progress(service)

    @app.get("/metrics", dependencies=only, summary="For Prometheus")
    async def measured() -> Response:
        problems = len(shown.problems_of(controller, service.complaint))
        text = metrics.text(controller, service.hub, dict(service.requests), problems)
        return PlainTextResponse(text, media_type=metrics.CONTENT_TYPE)

    @app.get(
        "/v1/health", response_model_exclude_none=True, summary="Without a token: the status alone"
    )
    async def health(request: Request) -> HealthModel:
        known = service.tokens is None or "authorization" in request.headers
        listeners, operator = service.hub.count(), known and service.who(request).operator
        return shown.health(controller, listeners, service.complaint, operator)


def _for_rollouts(app: FastAPI, service: Service) -> None:
    controller = service.controller
    only = [Depends(service.operator)]

    # These wait for the controller's lock or its disk, so that they are no coroutines: other requests go on meanwhile

    def progress() -> RolloutModel:
        rollout = controller.rollout
        with controller.lock:
            held, pending = rollout.held, sorted(rollout.pending)
        return RolloutModel(canaries=sorted(rollout.manner.canaries), held=held, pending=pending)

    @app.get("/v1/documents", dependencies=only, summary="What all hosts are told")
    def documents(pending: bool = False) -> dict[str, list[RouteModel]]:
        """Their routes; with `pending` as they will be when the roll-out is over."""
        told = {host: found.routes for host, found in controller.view.documents.items()}
        if pending:
            with controller.lock:
                told |= controller.rollout.pending
        return {
            host: [RouteModel.model_validate(route.fields()) for route in listed]
            for host, listed in told.items()
        }

    @app.get("/v1/rollout", dependencies=only, summary="How far the roll-out is")
    def rollout() -> RolloutModel:
        return progress()

    @app.post("/v1/rollout/hold", dependencies=only, summary="Tell only the first what is new")
    def hold() -> RolloutModel:
        if not controller.rollout.manner.canaries:
            raise HTTPException(
                409, "nobody is told first: expected rollout.canary in the controller's file"
            )
        _kept(controller.hold)
        return progress()

    @app.post("/v1/rollout/release", dependencies=only, summary="Tell all, without waiting")
    def release() -> RolloutModel:
        _kept(controller.release)
        return progress()


def _kept(change: Callable[[], None]) -> None:
    try:
        change()
    except EtalonError as error:
        raise HTTPException(
            500, f"it is done, but could not be saved: a restart undoes it: {error}"
        ) from None


def _progress(service: Service) -> MeasureModel:
    events = service.controller.events
    return MeasureModel(
        running=service.measuring.running,
        finished=events.measurements,
        last_finished=events.last_measured,
    )
