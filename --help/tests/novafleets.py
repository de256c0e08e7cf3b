"""
Nova's scenarios, as its documentation and talks tell them: which files each takes, and where Nova sends each group.

The files are in tests/data/nova, in the shapes that Nova's public examples have. The clusters are written down here from what is told of
Nova, never from what gitplacer prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitplacer.hydrate import Hydration
from gitplacer.importers.nova import NovaOptions, imported
from gitplacer.importers.report import Imported
from gitplacer.importers.variables import Variables
from tests.stories import Story

DATA = Path(__file__).parent / "data" / "nova"

WAITS = ""
"""Where a group is that Nova keeps in its control plane until there is room."""


@dataclass(frozen=True)
class Told:
    """A scenario: files of tests/data/nova, values of variables, options of Nova, and the clusters of each group, between commas."""

    files: Sequence[str]
    expected: Mapping[str, str]
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    options: Sequence[str] = ()

    def imported(self, **values: Sequence[str]) -> Imported:
        chosen = Variables({**self.values, **values})
        return imported(contents(self.files), chosen, NovaOptions.of(self.options))


def contents(files: Sequence[str]) -> dict[str, bytes]:
    return {file: (DATA / file).read_bytes() for file in files}


def policies(*names: str) -> list[str]:
    return [f"policies/{name}.yaml" for name in names]


def everything(folder: str) -> list[str]:
    return sorted(path.relative_to(DATA).as_posix() for path in (DATA / folder).glob("*.yaml"))


def story(found: Imported) -> Story:
    """The fleet that an import made, from its first pass on."""
    told = Story()
    move_in(told, found)
    return told


def move_in(told: Story, found: Imported) -> None:
    """The source and the snapshots of an import in place of those of a story."""
    texts = {path: data.decode() for path, data in found.files.items()}
    capacity = "capacity/"
    told.source = {path: text for path, text in texts.items() if not path.startswith(capacity)}
    told.capacity = {path.removeprefix(capacity): text for path, text in texts.items() if path.startswith(capacity)}


def clusters(done: Hydration) -> dict[str, str]:
    """The clusters of each group of workloads after a pass, between commas."""
    return {decision.group: ",".join(sorted(decision.files_after)) for decision in done.view.plan.decisions}


_TRAINING = "clusters/training.yaml"
_JOB = "manifests/ray-job.train.yaml"
_LLM = "manifests/ray-service.llm.yaml"
_SPAN = {"NUM_REPLICAS": ["3"], "MIN_REPLICAS": ["0"], "MAX_REPLICAS": ["5"]}
_LARGE = "manifests/ray-cluster.spanning.yaml"
_SERVE = "manifests/ray-service.llm-serve.yaml"

SCENARIOS: Mapping[str, Told] = {
    "b.1 fill and spill": Told(
        [*policies("rayjobcapacitypolicy"), _JOB, _TRAINING],
        {"rayjob1/rayjob": "static-cluster", "rayjob2/rayjob": "static-cluster", "rayjob3/rayjob": "dynamic-cluster"},
        {"NS": ["rayjob1", "rayjob2", "rayjob3"]},
    ),
    "b.2 fill, no spill": Told(
        [*policies("rayjobstaticpolicy"), _JOB, _TRAINING],
        {f"rayjob{number}/rayjob": "static-cluster" for number in (1, 2, 3)},
        {"NS": ["rayjob1", "rayjob2", "rayjob3"]},
    ),
    "b.3 the right cluster": Told(
        [
            *policies("rayserviceproductionpolicy", "rayservicedevelopmentpolicy"),
            "manifests/ray-service.text-summarizer.yaml",
            _TRAINING,
        ],
        {"production/text-summarizer": "static-cluster", "development/text-summarizer": "dynamic-cluster"},
        {"NS": ["production", "development"]},
    ),
    "b.4 cloud priority, and both clouds sleep": Told(
        [*policies("rayservicensprioritypolicy"), _LLM, "clusters/clouds-asleep.yaml"],
        {"vllm1/rayservice": "gke-workload-cluster", "vllm2/rayservice": "eks-workload-cluster"},
        {"NS": ["vllm1", "vllm2"]},
        ["NOVA_IDLE_ENTER_STANDBY_ENABLE", "NOVA_NAMESPACES_EXCLUDE_ACTIVE=kuberayns"],
    ),
    "b.5 cloud priority, spot first": Told(
        [*policies("rayservicensprioritypolicy"), _LLM, "clusters/clouds-awake.yaml"],
        {"vllm1/rayservice": "elotl-llmexperiment", "vllm2/rayservice": "workload-cluster-1"},
        {"NS": ["vllm1", "vllm2"]},
    ),
    "b.6 before the upgrade": Told(
        [*policies("rayservicespreadpolicy"), _LLM, "clusters/upgrade-before.yaml"],
        {"vllm1/rayservice": "workload-cluster-1"},
        {"NS": ["vllm1"]},
    ),
    "b.6 spread over old and new": Told(
        [*policies("rayservicespreadpolicy"), _LLM, "clusters/upgrade-before.yaml", "clusters/upgrade-after.yaml"],
        {"vllm1/rayservice": "workload-cluster-1,workload-cluster-1-upd"},
        {"NS": ["vllm1"]},
    ),
    "b.7 compound AI": Told(
        [
            *policies("rayservicespreadpolicy"),
            *everything("rag"),
            "manifests/ray-service.llm.mpt-7b-chat.autoscale.yaml",
            "clusters/rag.yaml",
        ],
        {
            "serving/rayservice": "workload-cluster-1",
            "serving/modelragllmserve": "workload-cluster-1",
            "serving/modeldataingest": "ingestion-cluster",
        },
        {"NS": ["serving"], "MODEL_INGESTION_CLUSTER": ["ingestion-cluster"]},
    ),
    "b.8 one app over two clusters": Told(
        [*policies("rayservicecapacityprioritypolicy"), _LARGE, "clusters/mesh.yaml"],
        {"large/rayservice": "cloud,on-prem"},
        {"NS": ["large"], **_SPAN},
        ["multi-cluster-capacity"],
    ),
    "b.8 the same, where apps do not span": Told(
        [*policies("rayservicecapacityprioritypolicy"), _LARGE, "clusters/mesh.yaml"],
        {"large/rayservice": WAITS},
        {"NS": ["large"], **_SPAN},
    ),
    "b.10 on-prem first": Told(
        [
            *policies("rayservicecapacityprioritypolicy"),
            "manifests/ray-service.text-summarizer.yaml",
            "clusters/mesh.yaml",
        ],
        {"summaries/rayservice": "on-prem"},
        {"NS": ["summaries"]},
    ),
    "b.11 the fixed cluster costs nothing": Told(
        [*policies("clusterprioritypolicy"), _SERVE, "clusters/thrifty.yaml"],
        {"llm1/rayservice": "fixed"},
        {"NS": ["llm1"], "SORTED_CLUSTER_LIST": ["fixed, scaled-cheap, scaled-dear"]},
    ),
    "b.11 then the cheapest that scales": Told(
        [*policies("clusterprioritypolicy"), _SERVE, "clusters/thrifty.yaml"],
        {"llm1/rayservice": "fixed", "llm2/rayservice": "scaled-cheap"},
        {"NS": ["llm1", "llm2"], "SORTED_CLUSTER_LIST": ["fixed, scaled-cheap, scaled-dear"]},
    ),
    "a.10 each NIMService is a group of its own": Told(
        [*policies("nimservicensprioritypolicy-xcluster"), "manifests/nimservices.yaml", "clusters/nim.yaml"],
        {"nim/nim-embedding": "onprem", "nim/nim-llm": "cloud"},
        {"NIM_NS": ["nim"]},
    ),
}
"""Each scenario by its name, with where Nova places each group. One after the other is placed in order of their names."""
