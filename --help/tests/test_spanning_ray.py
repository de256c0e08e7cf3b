"""
Real Ray, from the rendered command lines: a head in one network, a worker in another, and a task that runs on the worker.

Each side has its own network namespace, /tmp and /dev/shm, as a pod has; a veth pair is the mesh between them, and one line of
/etc/hosts is what Cilium's global Service would answer. It needs Linux, the right to make namespaces, and Ray itself:
`pip install 'gitplacer[ray]'`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitplacer.workloads.headaddress import HeadAddress, head_address
from gitplacer.workloads.remoteworkers import deployment

pytestmark = pytest.mark.slow

HOME, AWAY = "10.77.0.1", "10.77.0.2"
APP = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: app, namespace: ml}
spec:
  headServiceAnnotations: {service.cilium.io/global: "true"}
  headGroupSpec:
    serviceType: NodePort
    rayStartParams: {num-cpus: "0"}
    template: {spec: {containers: [{name: head, image: rayproject/ray}]}}
  workerGroupSpecs:
  - groupName: far
    replicas: 1
    rayStartParams: {resources: '"{\\"away\\": 1}"', object-store-memory: "100000000"}
    template:
      spec:
        containers:
        - name: worker
          image: rayproject/ray
          env: [{name: RAY_raylet_start_wait_time_s, value: "60"}]
          resources: {requests: {cpu: "2", memory: 1Gi}, limits: {memory: 1Gi}}
"""
ASK = """
import json, ray
ray.init(address="{home}:6379", log_to_driver=False)

@ray.remote(num_cpus=0, resources={{"away": 1}})
def where():
    return ray.util.get_node_ip_address()

@ray.remote(num_cpus=0, resources={{"away": 1}})
def offers():
    here = ray.get_runtime_context().get_node_id()
    return next(node["Resources"] for node in ray.nodes() if node["NodeID"] == here)

print(json.dumps({{"where": ray.get(where.remote(), timeout=120), "offers": ray.get(offers.remote(), timeout=60)}}))
"""
SCRIPT = """
set -euo pipefail
mount --bind "$DIR/hosts" /etc/hosts
unshare --net --mount sleep 600 &
AWAY=$!
trap 'kill $AWAY; kill $HEAD $WORKER 2>/dev/null || true' EXIT
apart() {{ while [ "$(readlink /proc/$1/ns/$2)" = "$(readlink /proc/self/ns/$2)" ]; do :; done; }}
apart $AWAY net
ip link add nearby type veth peer name faraway
ip link set faraway netns $AWAY
ip addr add {home}/24 dev nearby; ip link set nearby up; ip link set lo up; ip route add default dev nearby
nsenter -t $AWAY --net ip addr add {away}/24 dev faraway
nsenter -t $AWAY --net ip link set faraway up
nsenter -t $AWAY --net ip link set lo up
nsenter -t $AWAY --net ip route add default dev faraway
mount --make-rprivate / 2>/dev/null || true
mkdir -p /tmp/ray  # where each of the two keeps what it knows of itself; nothing else of /tmp is hidden, the tests may lie there
export DIR
unshare --mount bash -c 'mount -t tmpfs tmpfs /tmp/ray; mount -t tmpfs tmpfs /dev/shm; exec ray start --head --block --port=6379 \\
  --node-ip-address={home} --num-cpus=0 --include-dashboard=false --object-store-memory=100000000' > "$DIR/head.log" 2>&1 &
HEAD=$!
nsenter -t $AWAY --net --mount bash -c 'mount -t tmpfs tmpfs /tmp/ray; mount -t tmpfs tmpfs /dev/shm; . "$DIR/init.sh"; . "$DIR/worker.sh"' \\
  > "$DIR/worker.log" 2>&1 &
WORKER=$!
apart $HEAD mnt
timeout 150 nsenter -t $HEAD --mount bash -c 'until ray health-check --address {home}:6379 > /dev/null 2>&1; do :; done; exec python "$DIR/ask.py"'
nsenter -t $AWAY --net python "$DIR/probe.py"
"""
PROBE = """
import urllib.request
print(urllib.request.urlopen("http://{away}:{port}{path}", timeout=20).read().decode())
"""


def rendered() -> tuple[HeadAddress, dict[str, Any]]:
    """The address of the head, and the pod of a remote worker."""
    value = yaml.safe_load(APP)
    head = head_address(value, "ml", {}, ())
    assert isinstance(head, HeadAddress)
    return head, deployment(value, 0, 1, head, {})["spec"]["template"]["spec"]


def as_script(container: dict[str, Any]) -> str:
    """What a kubelet would run of a container, in a shell."""
    env = {item["name"]: item.get("value", "ml") for item in container["env"]}
    exports = "".join(f"export {name}={json.dumps(text)}\n" for name, text in env.items())
    assert container["command"] == ["/bin/bash", "-c", "--"]
    (line,) = container["args"]
    return exports + line + "\n"


def cannot_run() -> str:
    """Why the test cannot run here, or ''."""
    if importlib.util.find_spec("ray") is None:
        return "Ray is not installed: pip install 'gitplacer[ray]'"
    if not all(map(shutil.which, ("unshare", "nsenter", "ip", "mount"))):
        return "needs Linux with unshare, nsenter, ip and mount"
    tried = subprocess.run(
        ["unshare", "-rnm", "sh", "-c", "ip link add left type veth peer name right"], capture_output=True, text=True
    )
    return f"network namespaces are not allowed here: {tried.stderr.strip()}" if tried.returncode else ""


def test_a_remote_worker_joins_the_head_over_another_network_and_runs_a_task(tmp_path: Path) -> None:
    if why := cannot_run():
        pytest.skip(why)
    head, pod = rendered()
    (worker,) = pod["containers"]
    (tmp_path / "hosts").write_text(f"127.0.0.1 localhost\n{HOME} {head.host}\n")
    (tmp_path / "init.sh").write_text(as_script(pod["initContainers"][-1]))
    (tmp_path / "worker.sh").write_text(as_script(worker))
    (tmp_path / "ask.py").write_text(ASK.format(home=HOME))
    probe = worker["livenessProbe"]["httpGet"]
    (tmp_path / "probe.py").write_text(PROBE.format(away=AWAY, port=probe["port"], path=probe["path"]))
    (tmp_path / "home").mkdir()  # where another Ray has left a token, the pods would ask for one
    env = {**os.environ, "HOME": str(tmp_path / "home"), "DIR": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    env["RAY_AUTH_MODE"] = "disabled"
    env["GRPC_DNS_RESOLVER"] = "native"  # there is no DNS in these networks, and gRPC's own resolver asks nobody else
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    done = subprocess.run(
        ["unshare", "-rnm", "--kill-child", "--pid", "--fork", "--mount-proc", "bash", "-c", textwrap.dedent(SCRIPT).format(home=HOME, away=AWAY)],
        env=env, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    logs = "".join(f"\n-- {f.name}\n{f.read_text()[-3000:]}" for f in sorted(tmp_path.glob("*.log")))
    assert done.returncode == 0, done.stdout + done.stderr + logs
    answer, health = done.stdout.strip().splitlines()[-2:]
    told = json.loads(answer)
    assert told["where"] == AWAY
    assert told["offers"]["CPU"] == 2
    assert told["offers"]["memory"] == 1024**3
    assert told["offers"]["away"] == 1
    assert health == "success"
