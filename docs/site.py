"""
The documentation as a static site: `python docs/site.py OUT`.

The pages are written for whoever reads them where the code is, so nothing in them is for the site. They are laid out as they are in the
repository, with every file that they link to, and MkDocs makes pages of them; a link to nothing, or to a heading that there is not,
ends it with an error. The order is that of docs/index.md.
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mkdocs.commands.build import build as made  # noqa: E402
from mkdocs.config import load_config  # noqa: E402
from pymdownx.superfences import fence_code_format  # noqa: E402

from gitplacer.yamltext import to_block_yaml  # noqa: E402

_CHANGING = {
    "Reporting a hole": "SECURITY.md",
    "Benchmarks": "benchmarks/README.md",
    "What changed": "CHANGELOG.md",
    "Fragments of the changelog": "changelog.d/README.md",
    "Mutants": "tests/mutation.md",
}
"""Pages for who changes it, beside CONTRIBUTING."""
_BESIDE = ("README.md", "CONTRIBUTING.md", "fleet-repo-example/README.md", *_CHANGING.values())
"""Pages that are not in docs/."""
_LINK = re.compile(r"\[([^]]*)\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
_MERMAID = {"name": "mermaid", "class": "mermaid", "format": fence_code_format}
_STYLE = "wide.css"
_WIDE = ".md-grid { max-width: 90rem; }\n.md-typeset table:not([class]) th { min-width: 4rem; }\n"
"""Plans and tables are wide."""
_SECTION = re.compile(r"^\*\*(.+)\*\*$")
_ITEM = re.compile(r"^- \[([^]]+)\]\(([^)#]+)\)(?:, and \[.*)?")


def pages() -> Iterator[Path]:
    """All pages, each as its path from the root of the repository."""
    yield from map(Path, _BESIDE)
    yield from sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))


def files(of: Iterable[Path]) -> set[Path]:
    """These pages and what they link to, as far as it is there: what is not, MkDocs complains of."""
    found = set(of)
    for page in sorted(found):
        for _, link in _LINK.findall((ROOT / page).read_text("utf-8")):
            place = (ROOT / page.parent / link).resolve()
            if "://" not in link and place.is_relative_to(ROOT) and place.is_file():
                found.add(place.relative_to(ROOT))
    return found


def laid_out(page: Path) -> bytes:
    """A file as the site gets it. A link to a folder, which a reader of the repository may look into, is words there."""
    data = (ROOT / page).read_bytes()
    if page.suffix != ".md":
        return data
    kept = lambda found: found[1] if (ROOT / page.parent / found[2]).is_dir() else found[0]  # noqa: E731
    return _LINK.sub(kept, data.decode()).encode()


def navigation() -> list[dict[str, Any]]:
    """The sections of docs/index.md with their pages; what is a folder of pages there is one here."""
    nav: list[dict[str, Any]] = [{"gitplacer": "README.md"}]
    section: list[Any] = []
    for line in (ROOT / "docs/index.md").read_text("utf-8").splitlines():
        if title := _SECTION.match(line):
            section = []
            nav.append({title[1]: section})
        elif item := _ITEM.match(line):
            section.append(_entry(item[1], (ROOT / "docs" / item[2]).resolve().relative_to(ROOT)))
    nav[1][next(iter(nav[1]))].insert(0, {"All pages": "docs/index.md"})
    section += [{title: page} for title, page in _CHANGING.items()]
    return nav


def _entry(title: str, page: Path) -> dict[str, Any]:
    if page.name != "README.md" or page.parent.parent.name != "docs":
        return {title: page.as_posix()}
    inside = sorted(path for path in (ROOT / page.parent).glob("*.md") if path.name != page.name)
    return {title: [page.as_posix(), *({_headline(path): path.relative_to(ROOT).as_posix()} for path in inside)]}


def _headline(page: Path) -> str:
    return next(line[2:] for line in page.read_text("utf-8").splitlines() if line.startswith("# "))


def configuration(out: Path) -> dict[str, Any]:
    """MkDocs' configuration. Nothing is fetched from elsewhere but the script that draws the one diagram."""
    return {
        "site_name": "gitplacer",
        "site_description": "Placement of Ray on many Kubernetes clusters, as a rendering step in Git",
        "docs_dir": "pages",
        "exclude_docs": "!.github",
        "site_dir": str(out.resolve()),
        "strict": True,
        "use_directory_urls": False,
        "nav": navigation(),
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.tabs", "navigation.indexes", "navigation.top", "content.code.copy", "search.suggest"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo",
                 "toggle": {"icon": "material/weather-night", "name": "Dark"}},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo",
                 "toggle": {"icon": "material/weather-sunny", "name": "Light"}},
            ],
        },
        "plugins": ["search"],
        "validation": {
            "nav": {"omitted_files": "warn", "not_found": "warn"},
            "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"},
        },
        "markdown_extensions": [
            "tables",
            {"mdx_truly_sane_lists": {"nested_indent": 2}},
            {"toc": {"permalink": True}},
            {"pymdownx.highlight": {"anchor_linenums": False}},
            {"pymdownx.superfences": {"custom_fences": [_MERMAID]}},
        ],
        "extra_css": [_STYLE],
    }  # fmt: skip


def build(out: Path) -> None:
    """Make the site. Raises mkdocs.exceptions.Abort where something is linked that there is not."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        for path in sorted(files(pages())):
            place = top / "pages" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(laid_out(path))
        (top / "pages" / _STYLE).write_text(_WIDE)
        told = configuration(out)
        (top / "mkdocs.yml").write_bytes(to_block_yaml({"site_name": told["site_name"]}))
        made(load_config(str(top / "mkdocs.yml"), **told))


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")  # what is wrong, before it ends
    parser = argparse.ArgumentParser(description="The documentation as a static site.")
    parser.add_argument(
        "out",
        metavar="OUT",
        type=Path,
        nargs="?",
        default=Path("site"),
        help="The directory that it is written to; site if none is named.",
    )
    build(parser.parse_args().out)
