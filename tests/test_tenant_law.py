"""
Whatever one tenant writes, pass after pass, nothing outside its tenancy changes: the law whose examples are in `test_tenant_attacks.py`.

The files are made up, hostile and harmless ones among each other; the other tenant and the platform go about their business.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from docs.hostile_inputs import CLASSES, File
from gitplacer.hydrate import Hydration, hydrate
from tests.hostile_files import OF_FILES
from tests.hostile_objects import OF_OBJECTS
from tests.stories import Story, rayjob, rayservice
from tests.test_hostile import with_files
from tests.test_tenant_attacks import AGENT, ATTACKS, fleet, of_others

Files = Mapping[str, File]
FOLDER = "workloads/red/"


def placed(files: Files, folder: str) -> Files:
    """A spelling in a folder of its own; what is not below red's folder is not red's to write."""
    return {f"{FOLDER}{folder}/{path[len(FOLDER) :]}": file for path, file in files.items() if path.startswith(FOLDER)}


WRITTEN = [spelling.files for each in CLASSES.values() for spelling in each.spellings.values()]
KNOWN = [{f"{FOLDER}{name}": text for name, text in files.items()} for files, _ in ATTACKS.values()]
HARMLESS: list[Files] = [dict(one) for one in (rayservice("red", "more", gpus=0, cpu="100m"), rayjob("red", "job"))]
MADE_UP = st.one_of([make() for make in (*OF_FILES.values(), *OF_OBJECTS.values())]).map(
    lambda spelling: spelling.files
)
SORTS = [*map(st.sampled_from, (WRITTEN, KNOWN, HARMLESS)), MADE_UP, MADE_UP]
SPELLINGS = st.integers(0, len(SORTS) - 1).flatmap(
    SORTS.__getitem__
)  # one_of would take the many sorts of what is made up for as many
PUSHES = st.lists(st.lists(SPELLINGS, max_size=4), min_size=2, max_size=3)


def passed(story: Story, files: Files) -> Hydration:
    """A pass over the story's source and some more files."""
    inputs = story.inputs()
    done = hydrate(replace(inputs, source=with_files(inputs.source, files)), memo=story.memory)
    story.deployment = done.tree
    story.passes += 1
    story.now += timedelta(minutes=1)
    return done


@given(PUSHES)
@settings(max_examples=20, phases=(Phase.explicit, Phase.reuse, Phase.generate))  # what fails is short enough
def test_nothing_that_a_tenant_writes_changes_what_others_have(pushes: list[list[Files]]) -> None:
    calm, story = fleet(), fleet()
    for turn, push in enumerate(pushes):
        for each in (calm, story):
            each.source |= rayservice("blue", f"new{turn}", gpus=0, cpu="1")
            each.source |= {path: f"{text}# edit {turn}\n" for path, text in AGENT.items()}
        files: dict[str, File] = {}
        for number, spelling in enumerate(push):
            files |= placed(spelling, f"s{number}")
        assert of_others(passed(story, files)) == of_others(passed(calm, {}))
