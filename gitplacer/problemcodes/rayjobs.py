"""Problems of RayJobs, RayServices and RayCronJobs, beside those of the Ray cluster spec in them."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    # RayJob
    "NotItsOwnCluster": Code(
        "A job that runs on an existing Ray cluster asks for what needs one of its own",
        "With `clusterSelector` KubeRay neither makes nor deletes a Ray cluster: such a job cannot be suspended, retried, "
        "submitted by a sidecar of the head, or have its workers or its Ray cluster deleted. KubeRay refuses it, and the "
        "job stays ValidationFailed even when it is mended.",
        "Remove what the message names, or write `rayClusterSpec` instead of `clusterSelector`.",
    ),
    "SuspendWithoutShutdown": Code(
        "A job may be suspended, and its Ray cluster may not be deleted",
        "A suspended RayJob has no Ray cluster, so KubeRay takes `suspend: true` only together with "
        "`shutdownAfterJobFinishes: true`.",
        "Add `shutdownAfterJobFinishes: true`, or remove `suspend`.",
    ),
    "SubmissionModeConflict": Code(
        "A setting does not go with the way the job is submitted",
        "In InteractiveMode somebody submits the job by hand, and nobody would do it again for a retry. In SidecarMode the "
        "submitter is a container of the head: there is no pod to give a template, and the head must not be restarted. "
        "KubeRay refuses the job, and it stays ValidationFailed even when it is mended.",
        "Remove what the message names, or use another `submissionMode`.",
    ),
    "InvalidRuntimeEnv": Code(
        "The runtime environment of a job cannot be read",
        "`runtimeEnvYAML` is a text, and what is in it is read by KubeRay and Ray only: the manifest around it is valid YAML all the "
        "same. KubeRay refuses the job if it is no YAML mapping. Ray refuses it, once the whole Ray cluster runs, if `env_vars` has values that are "
        "not texts, such as `DEBUG: 1`, or is written as a list, as containers have it.",
        "Write it as a block, `runtimeEnvYAML: |`, with its keys indented below, and the values of `env_vars` in quotes.",
    ),
    "NoEntrypoint": Code(
        "A job has no command",
        "KubeRay takes a RayJob without `entrypoint`, starts its whole Ray cluster, and then has nothing to submit.",
        "Add `entrypoint`. A job that is submitted by hand has `submissionMode: InteractiveMode`.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "InvalidDeletion": Code(
        "What is to be deleted after the job contradicts itself",
        "KubeRay deletes by `shutdownAfterJobFinishes` (and `ttlSecondsAfterFinished`, which needs it), or by "
        "`deletionStrategy.deletionRules`, or by its old `onSuccess` and `onFailure`, which go together. A rule waits for one "
        "status, is there once, and comes no earlier than one that deletes less. It refuses anything else.",
        "Choose one of them, and mend what the message names.",
    ),
    "KeepsRayCluster": Code(
        "The Ray cluster of a job stays when the job is done",
        "By default KubeRay lets it run on, and it holds its room for ever. With a RayCronJob every tick leaves another one.",
        "Add `shutdownAfterJobFinishes: true`, or `deletionStrategy.deletionRules` for success and for failure.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    # RayCronJob
    "InvalidSchedule": Code(
        "A schedule is not understood",
        "KubeRay reads five fields (minute, hour, day of the month, month, day of the week) or a name such as `@hourly`, and "
        "no time zone among them. It tells a bad schedule in an Event, and nothing is ever run.",
        "Correct the field that the message names; a time zone goes into `timeZone`.",
    ),
    "InvalidTimeZone": Code(
        "A time zone is not known",
        "KubeRay looks it up in the IANA database by its exact name, and without it nothing is ever run. The names are those "
        "of the database's version 2025b.",
        "Use a name such as `Europe/Berlin`. If the database got a new zone since, allow it.",
        allowable=True,
    ),
    "RunsOverlap": Code(
        "A run may go on when the next one begins",
        "KubeRay makes a RayJob at each tick, whether or not the one before is done; it has no `concurrencyPolicy`. Room is promised "
        "for one run, so the second one's pods may wait. A run takes at most `activeDeadlineSeconds`, from when its Ray cluster is asked for, "
        "once for each attempt of `backoffLimit`, and its Ray cluster stays for `ttlSecondsAfterFinished` more.",
        "Give `jobTemplate` an `activeDeadlineSeconds` less than the time between two ticks. Where runs are known to be short, "
        "or waiting is meant, allow it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    # RayService
    "IncompleteUpgrade": Code(
        "An incremental upgrade lacks something it needs",
        "It moves the traffic step by step through a Gateway, and the Ray autoscaler makes the room. Without "
        "`enableInTreeAutoscaling: true` and all of `clusterUpgradeOptions` KubeRay refuses the RayService.",
        "Add what the message names, or use `upgradeStrategy.type: NewCluster`.",
    ),
    "HeadServiceName": Code(
        "The head service of a RayService has a name",
        "Its Ray clusters come and go, and the service points at one after the other, so KubeRay names it and refuses "
        "a RayService that does.",
        "Remove `headService.metadata.name`.",
    ),
    "InvalidServeConfig": Code(
        "What a service is to serve is nothing that Ray takes",
        "`serveConfigV2` is a text, and what is in it is read only once the Ray cluster runs: the manifest around it is "
        "valid YAML all the same. KubeRay fails to read it, or Ray refuses it, again and again; the Ray cluster holds its room and serves nothing, or "
        "what it served before. Ray wants a list of applications, each with an `import_path`, and names and route prefixes that none has twice; one without "
        "a `route_prefix` has `/`. Files are at an address that all nodes can reach, and variables are texts.",
        "Write it as a block, `serveConfigV2: |`, with `applications:` indented below, and in it what the message asks for.",
    ),
    "InvalidTimeout": Code(
        "The time to wait for a RayService is no time",
        "KubeRay reads the annotation `ray.io/initializing-timeout` as a duration (`30m`) or a number of seconds, more than "
        "nothing, and refuses the RayService otherwise.",
        "Write such a value, or remove the annotation.",
    ),
    "NeverUpgraded": Code(
        "Edits of a RayService are never applied",
        "With `upgradeStrategy.type: None` KubeRay goes on with the Ray cluster it has: a new image or setting is merged, "
        "synced and reported as healthy, and nothing changes.",
        "Use `NewCluster`. Where room for a second Ray cluster is missing and that is meant, allow it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    # several kinds
    "InvalidUpgradeStrategy": Code(
        "There is no such upgrade strategy",
        "A RayCluster has `Recreate` and `None`; a RayService has `NewCluster`, `NewClusterWithIncrementalUpgrade` and `None`. "
        "Anything else is refused.",
        "Use one of those that the hint lists.",
    ),
    "InvalidManagedBy": Code(
        "There is no such manager",
        "The API server takes `ray.io/kuberay-operator` and `kueue.x-k8s.io/multikueue` only.",
        "Remove `managedBy`; KubeRay manages what names nobody.",
    ),
    "NestedField": Code(
        "A field of an outer object is set in the spec inside",
        "KubeRay makes a RayCluster (or, from a RayCronJob, RayJobs) from the spec inside. One with an `upgradeStrategy` it then "
        "refuses, and one that somebody else manages it leaves alone: nothing starts, and the outer object looks well.",
        "Remove the field, or move it to the outer spec.",
    ),
    "NumberOutOfRange": Code(
        "A number is not in its range",
        "KubeRay refuses the object: deadlines and intervals are at least 1, retries and waits at least 0, percentages from "
        "0 to 100, and a step is no larger than the surge.",
        "Use a number from the range that the hint gives.",
    ),
    # Kueue
    "KueueRefuses": Code(
        "Kueue does not take this object",
        "The label `kueue.x-k8s.io/queue-name` hands it to Kueue, whose webhook refuses what it cannot queue as a whole: "
        "jobs that keep their Ray cluster, autoscaling without elastic jobs, a worker group named `head`, more than 18 "
        "sorts of pods. The sync fails.",
        "Mend what the message names, or remove the label. Where no Kueue looks at Ray objects, allow it.",
        allowable=True,
    ),
    "NotQueued": Code(
        "A queue is named, and nothing waits in it",
        "KubeRay does not give the labels of a RayCronJob to its RayJobs, and a job on an existing Ray cluster has its "
        "room already. The label seems to hold them back, and does not.",
        "Remove the label.",
        severity=Severity.WARNING,
        allowable=True,
    ),
}
