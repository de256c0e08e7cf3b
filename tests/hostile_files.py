"""
Made-up spellings of hostile files: paths, links, bytes and YAML that no object comes of. A strategy for each class; those of objects are
in `hostile_objects`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from docs.hostile_inputs import HERE, Spelling, app, config
from gitplacer.tree import SUBMODULE, SYMLINK, Entry

WORDS_OF_YAML = {"y", "n", "no", "on", "off", "yes", "true", "false", "null", "nan"}
NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=8).filter(lambda name: name not in WORDS_OF_YAML)
CONTROLS = st.sampled_from([chr(n) for n in (*range(1, 32), 127, 0x85, 0x200B, 0x202E, 0x2066, 0x2028, 0xFEFF)])
JSON_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
PATHS = st.builds(
    "workloads/red/{}{}{}".format,
    st.sampled_from(["", "deep/", "a/b/"]),
    NAMES,
    st.sampled_from([".yaml", ".yml", ".json"]),
)
"""Files that are read, in red's paths."""


@st.composite
def odd_path(draw: st.DrawFn) -> Spelling:
    before, after = draw(NAMES), draw(NAMES)
    kind = draw(st.sampled_from(["control", "end", "backslash", "long"]))
    segment = {
        "control": lambda: before + draw(CONTROLS) + after,
        "end": lambda: before + draw(st.sampled_from([" ", ".", "..", ". "])),
        "backslash": lambda: before + "\\" + after,
        "long": lambda: "\u00e9" * draw(st.integers(128, 200)),
    }[kind]()
    return Spelling({f"workloads/red/{segment}/x.yaml": app()})


@st.composite
def twins(draw: st.DrawFn) -> Spelling:
    name = draw(NAMES)
    other = "".join(draw(st.sampled_from([c, c.upper()])) for c in name)
    other = other if other != name else name.upper()
    return Spelling(
        {f"workloads/red/t/{name}.yaml": app(name="one"), f"workloads/red/t/{other}.yaml": app(name="two")},
        ("CaseTwin",),
    )


@st.composite
def link(draw: st.DrawFn) -> Spelling:
    return Spelling({draw(PATHS | NAMES.map("workloads/red/{}".format)): Entry(SYMLINK, "0" * 40)})


@st.composite
def submodule(draw: st.DrawFn) -> Spelling:
    """A submodule, and sometimes what would tell git where it comes from."""
    path = draw(PATHS | NAMES.map("workloads/red/{}".format))
    told = {
        "workloads/red/.gitmodules": f'[submodule "x"]\n\tpath = {path}\n\turl = {draw(NAMES)}::{draw(JSON_TEXTS)}\n'
    }
    return Spelling({path: Entry(SUBMODULE, "1" * 40), **draw(st.sampled_from([{}, told]))}, ("NotAFile",))


@st.composite
def pointer(draw: st.DrawFn) -> Spelling:
    """A pointer of Git LFS, with extensions or without, or attributes that would have git change what it reads."""
    if draw(st.booleans()):
        what = draw(
            st.sampled_from(["filter={}", "working-tree-encoding={}", "eol={}", "text", "ident", "diff={} merge={}"])
        )
        text = f"{draw(st.sampled_from(['*', '*.yaml', 'well.yaml']))} {what.replace('{}', draw(NAMES))}\n"
        return Spelling({"workloads/red/.gitattributes": text}, ())
    more = draw(st.lists(NAMES, max_size=2))
    lines = ["version https://git-lfs.github.com/spec/v1"]
    lines += [f"ext-{n}-{name} sha256:{draw(st.integers(0, 2**64)):064x}" for n, name in enumerate(more)]
    lines += [f"oid sha256:{draw(st.integers(0, 2**64)):064x}", f"size {draw(st.integers(0, 2**40))}", ""]
    return Spelling({draw(PATHS): "\n".join(lines)}, ("LFSPointer",))


@st.composite
def too_much(draw: st.DrawFn) -> Spelling:
    """A file, a value or a path beyond its bound by little or by much."""
    more = draw(st.integers(1, 1000))
    match draw(st.sampled_from(["file", "value", "folders", "path"])):
        case "file":
            return Spelling({draw(PATHS): b"#" * ((4 << 20) + more)}, ("FileTooLarge",))
        case "value":
            return Spelling({HERE: config(body=f"data: {{{draw(NAMES)}: {'x' * ((1 << 20) + more)}}}")}, ("TooLarge",))
        case "folders":
            return Spelling({f"workloads/red/{'d/' * (63 + more)}x.yaml": app()}, ("OddPath",))
    return Spelling(
        {f"workloads/red/{'d' * 200}/" + ("e" * 200 + "/") * (20 + more // 100) + "x.yaml": app()}, ("OddPath",)
    )


@st.composite
def not_utf8(draw: st.DrawFn) -> Spelling:
    text = config(body=f"data: {{a: '{draw(NAMES)}'}}").encode()
    at = draw(st.integers(0, len(text)))
    return Spelling(
        {HERE: text[:at] + draw(st.sampled_from([b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\x80"])) + text[at:]}
    )


@st.composite
def bomb(draw: st.DrawFn) -> Spelling:
    """Nesting that is spread over anchors, or aliases that multiply."""
    levels, width = draw(st.integers(3, 30)), draw(st.integers(2, 60))
    if draw(st.booleans()):
        per = max(2, 70 // levels + 1)
        text = "".join(f"k{n}: &k{n} {'[' * per}{f'*k{n - 1}' if n else 'x'}{']' * per}\n" for n in range(levels))
        return Spelling({HERE: text}, ("TooDeep",))
    levels = max(levels, 20)
    text = "k0: &k0 [x]\n" + "".join(f"k{n}: &k{n} [{','.join([f'*k{n - 1}'] * width)}]\n" for n in range(1, levels))
    return Spelling({HERE: text}, ("TooManyAliases", "TooDeep", "TooLarge"))


@st.composite
def unlike_json(draw: st.DrawFn) -> Spelling:
    value, code = draw(
        st.sampled_from(
            [
                (".nan", "NotJSON"),
                (".inf", "NotJSON"),
                ("-.INF", "NotJSON"),
                ("!!python/name:os.system x", "CustomTag"),
                ("!x y", "CustomTag"),
            ]
        )
        | st.integers(2**64, 2**80).map(lambda n: (str(n), "NotJSON"))
    )
    return Spelling({HERE: config(body=f"data: {{{draw(NAMES)}: {value}}}")}, (code,))


@st.composite
def more_than_json(draw: st.DrawFn) -> Spelling:
    """A key twice, a key that is no text, or a value that JSON has not."""
    key, other = draw(NAMES), draw(st.sampled_from(["1", "1.5", "true", "null", "~", "[a, b]", "{a: b}"]))
    twice = Spelling(
        {HERE: config(body=f"data: {{{key}: a, 'b': c, {draw(st.sampled_from([key, repr(key)]))}: d}}")},
        ("DuplicateKey",),
    )
    no_text = Spelling({HERE: config(body=f"data: {{{other}: {key}}}")}, ("NonStringKey", "UnrenderedTemplate"))
    return draw(st.sampled_from([twice, no_text, draw(unlike_json())]))


@st.composite
def no_object(draw: st.DrawFn) -> Spelling:
    text = draw(st.sampled_from(["- {}\n", "{}\n", "[{}]\n", "'{}'\n"])).replace("{}", draw(NAMES))
    return Spelling({HERE: text}, ("NotAMapping",))


@st.composite
def taken_for_else(draw: st.DrawFn) -> Spelling:
    """Where a text has to stand, a word that YAML reads as a number, as true or false, or as nothing, by one of its versions."""
    word = draw(
        st.sampled_from(["no", "Yes", "ON", "off", "true", "False", "0x1F", "1.10", "-.5", "1e3", "0o17"])
        | st.integers(0, 10**9).map(str)
        | st.integers(0, 777).map("0{}".format)
    )
    return draw(
        st.sampled_from(
            [
                Spelling({HERE: app(name=word)}, ("InvalidObject",)),
                Spelling({HERE: app(labels=f"{{{draw(NAMES)}: {word}}}")}, ("WrongType",)),
                Spelling({HERE: app(annotations=f"{{{draw(NAMES)}: {word}}}")}, ("WrongType",)),
                Spelling({HERE: config(f", namespace: {word}")}, ("InvalidObject", "WrongType", "NotTheTenants")),
            ]
        )
    )


@st.composite
def to_be_rendered(draw: st.DrawFn) -> Spelling:
    """What Kustomize or Helm would read, whatever stands in it, beside an app; or a hidden file that an engine would."""
    text = draw(
        JSON_TEXTS
        | st.sampled_from(["resources: [../../blue]\n", "helmCharts: [{name: x}]\n", "generators: [exec.yaml]\n"])
    )
    folder = draw(st.sampled_from(["workloads/red/k", "workloads/red/a/b"]))
    if draw(st.booleans()):
        name = draw(st.sampled_from(["kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml"]))
        return Spelling({f"{folder}/{name}": text, f"{folder}/x.yaml": app()}, ("NotRendered",))
    name = draw(
        st.sampled_from(
            [".argocd-source.yaml", ".argocd-source-{}.yaml", ".sourceignore", ".krmignore", ".{}.yaml", ".{}/x.yaml"]
        )
    )
    return Spelling({f"{folder}/{name.format(draw(NAMES))}": text}, ())


OF_FILES: Mapping[int, Callable[[], st.SearchStrategy[Spelling]]] = {
    1: odd_path, 3: link, 4: submodule, 5: pointer, 6: twins, 7: too_much, 15: not_utf8, 16: bomb, 17: more_than_json, 18: taken_for_else,
    19: unlike_json, 20: no_object, 32: to_be_rendered,
}  # fmt: skip
"""By the number of the class."""
