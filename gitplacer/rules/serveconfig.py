"""
What a RayService is to serve: `serveConfigV2`, a text that KubeRay reads as a YAML mapping and hands to Ray once the Ray cluster runs.

Neither the API server nor KubeRay looks into it, so the object is applied, the pods start and hold their room; then Ray refuses the whole
text and KubeRay tries again for ever. Told is what every Ray refuses that knows applications, since 2.4.
Source: updateServeDeployment in KubeRay; ServeDeploySchema, ServeApplicationSchema and RayActorOptionsSchema in Ray's serve/schema.py,
parse_and_validate_env_vars in its _private/runtime_env/validation.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from gitplacer.documents import LISTED
from gitplacer.plaintext import few
from gitplacer.rules.embedded import SERVE_CONFIG, mapping_in_text, runtime_envs
from gitplacer.rules.manifest import RayManifest, Rule, tell

_KEY, _CODE = SERVE_CONFIG, "InvalidServeConfig"
_EXAMPLE = "applications: [{name: a, import_path: a:app}]"
_DEFAULT_NAME, _DEFAULT_ROUTE = "default", "/"
_VARIABLE = "${"
"""Begins what Flux may replace, by which it becomes something else than stands here."""
Wrong = tuple[str, str]
"""What is wrong, and what to do about it."""


def serve_config(manifest: RayManifest) -> None:
    """The text is a YAML mapping that Ray takes."""
    if manifest.kind != "RayService":
        return
    config = mapping_in_text(manifest.spec, _KEY, _CODE, _EXAMPLE)
    for said, hint in islice(_refused(config), LISTED) if config else ():
        tell(manifest.spec, _CODE, f"{_KEY}: {said}", hint, key=_KEY)


def _refused(config: Mapping[str, Any]) -> Iterator[Wrong]:
    for said, hint in _of_schema(config):
        yield f"{said}, and Ray refuses all of it", hint
    applications = config.get("applications")
    for app in applications if isinstance(applications, list) else ():
        for env in runtime_envs(app) if isinstance(app, dict) else ():
            variables = env.get("env_vars")
            # Not quoted: it may be a password of digits.
            if isinstance(variables, dict) and (
                others := [k[:63] for k, v in variables.items() if not isinstance(v, str)]
            ):
                said = f"{few(others)} in env_vars of application {_name(app)} {'is' if len(others) == 1 else 'are'} not text"
                yield f"{said}, and Ray does not start it", "put the value in quotes"


def _of_schema(config: Mapping[str, Any]) -> Iterator[Wrong]:
    written = config.get("applications")
    if not isinstance(written, list):
        said = "there are no applications" if written is None else "applications is no list"
        yield said, f"write {_EXAMPLE}"
        return
    found = [each for each in written if isinstance(each, dict)]
    if len(found) < len(written):
        yield "an application is no mapping", "write each as `- name: a`, with its import_path and route_prefix below"
    for app in found:
        yield from _of_application(app)
    names = Counter(str(app.get("name", _DEFAULT_NAME)) for app in found)
    if twice := [name[:63] for name, times in names.items() if times > 1]:
        yield f"two applications have the name {few(twice)}", "give each a name of its own"
    routes = Counter(route for app in found if isinstance(route := app.get("route_prefix", _DEFAULT_ROUTE), str))
    if twice := [route[:63] for route, times in routes.items() if times > 1]:
        hint = f"give each a route_prefix of its own; where there is none it is {_DEFAULT_ROUTE}"
        yield f"two applications have the route_prefix {few(twice)}", hint


def _of_application(app: Mapping[str, Any]) -> Iterator[Wrong]:
    name = _name(app)
    path = app.get("import_path")
    if path is None:
        yield f"application {name} has no import_path", "add import_path: module:app"
    elif isinstance(path, str) and _VARIABLE not in path and not _is_import_path(path):
        yield f'the import_path "{path[:100]}" of application {name} is none', "write module:app or module.app"
    for env in runtime_envs(app):
        modules = env.get("py_modules")
        places = [("working_dir", env.get("working_dir"))]
        places += [("py_modules", each) for each in (modules if isinstance(modules, list) else ())]
        for key, place in places:
            if isinstance(place, str) and _VARIABLE not in place and "://" not in place:
                said = f'{key} of application {name} is "{place[:100]}", which is no address'
                yield said, "write that of a zip file: https://…, s3://…, gs://…; what is in the image needs none"


def _name(app: Mapping[str, Any]) -> str:
    return str(app.get("name", _DEFAULT_NAME))[:63]


def _is_import_path(path: str) -> bool:
    separator = ":" if ":" in path else "."
    return (
        path.count(":") <= 1 and separator in path and not path.startswith(separator) and not path.endswith(separator)
    )


RULES: tuple[Rule, ...] = (serve_config,)
