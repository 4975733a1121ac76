"""
The Helm chart: helm takes it, kubeconform finds that Kubernetes would, and what it sets is what a worker takes.

No cluster has run it: docs/kubernetes.md says what was tried.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kconnect.cli.operator import crd
from kconnect.cli.operator.operator import operator
from kconnect.core.settings.worker import WorkerSettings
from kconnect.java import properties
from tests.docker import image, schemas
from tests.docs.pages import DOCS

# Where CI=true has to build helm first, that takes minutes.
# To build helm takes minutes, where nobody has yet.
pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.timeout(1500)]

CHART = image.ROOT / "docker" / "chart"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))

AT = ("--kube-version", "1.34.0")
"""Of the schemas. A helm that Go has built from its module believes in a very old one."""

FEW = {"bootstrapServers": "kafka:9092"}
ALL = {
    "bootstrapServers": "SASL_SSL://kafka-1:9093,SASL_SSL://kafka-2:9093",
    "replicas": 5,
    "image": {"repository": "registry.example.com/kconnect", "tag": "1", "pullSecrets": [{"name": "registry"}]},
    "worker": {
        "security.protocol": "SASL_SSL",
        "rest.authentication.file": "/run/secrets/kconnect-worker/users/users",
        "offset.flush.interval.ms": "1000000",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "rest.extension.note": r"a\b",
    },
    "secrets": ["crm.login", "db"],
    "workerSecrets": ["users"],
    "env": [{"name": "CONNECT_SASL_JAAS_CONFIG", "valueFrom": {"secretKeyRef": {"name": "kafka", "key": "jaas"}}}],
    "plugins": {"images": [{"image": "registry.example.com/plugins:1", "path": "/opt/my plugins"}]},
    "podDisruptionBudget": {"maxUnavailable": "20%"},
    "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"team": "data"}}}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "autoscaling": {"enabled": True},
    "executors": {"enabled": True, "count": 3, "cores": "500m", "memory": "2g"},
    "operator": {
        "enabled": True,
        "namespaces": ["data", "more"],
        "cluster": "my-connect",
        "strimzi": True,
        "env": [{"name": "KCONNECT_TOKEN", "valueFrom": {"secretKeyRef": {"name": "operator", "key": "token"}}}],
    },
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}},
    "podAnnotations": {"a": "b"},
    "podLabels": {"a": "b"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}
"""Every value that is more than a number or a text of another one."""

OPERATOR = ("Deployment", "kconnect-prod-operator")
EXECUTOR = ("Pod", "executor")
"""By the template, which is text in a ConfigMap."""

both = pytest.mark.parametrize("values", [FEW, ALL], ids=["few", "all"])


class Chart:
    def __init__(self, programs: dict[str, Path], folder: Path) -> None:
        self._programs, self._folder = programs, folder

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [str(self._programs["helm"]), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def values(self, values: dict) -> Path:
        path = self._folder / "values.yaml"
        path.write_text(yaml.safe_dump(values), "utf-8")
        return path

    def rendered(self, values: dict, release: str = "prod") -> str:
        done = self.run("template", release, CHART, *AT, "--namespace", "data", "-f", self.values(values))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def objects(self, values: dict, release: str = "prod") -> dict[tuple[str, str], Any]:
        """By kind and name."""
        found = [each for each in yaml.safe_load_all(self.rendered(values, release)) if each]
        return {(each["kind"], each["metadata"]["name"]): each for each in found}

    def complaints(self, manifests: str) -> str:
        command = [str(self._programs["kubeconform"]), "-strict", "-schema-location", schemas.LOCATION, "-"]
        done = subprocess.run(command, input=manifests, capture_output=True, text=True, timeout=120)
        return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture
def chart(go_tools: dict[str, Path], tmp_path: Path) -> Chart:
    return Chart(go_tools, tmp_path)


@both
def test_helm_takes_it(chart: Chart, values: dict) -> None:
    done = chart.run("lint", "--strict", CHART, "-f", chart.values(values))
    assert done.returncode == 0, done.stdout + done.stderr


@both
def test_kubernetes_knows_every_field(chart: Chart, values: dict) -> None:
    manifests = chart.rendered(values)
    assert chart.complaints(manifests) == ""
    kinds = {each["kind"].lower() for each in yaml.safe_load_all(manifests) if each}
    if values is ALL:
        assert kinds == {path.stem for path in schemas.FOLDER.glob("*.json")}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("replicas: 3", "replicas: three"),
        ("podManagementPolicy:", "podManagementPolice:"),
        ("readOnlyRootFilesystem:", "readOnlyRoot:"),
        ("maxUnavailable: 1", "maxUnavailable: [1]"),
        ("publishNotReadyAddresses: true", "publishNotReadyAddresses: 1"),
    ],
)
def test_a_field_that_kubernetes_does_not_know_is_found(chart: Chart, right: str, wrong: str) -> None:
    manifests = chart.rendered(FEW)
    assert right in manifests
    assert chart.complaints(manifests.replace(right, wrong)) != ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"replicas": 0},
        {"replica": 3},
        {"worker": {"offset.flush.interval.ms": 1000000}},
        {"worker": {"a": "b\nplugin.path=/"}},
        {"service": {"port": 80}},
        {"bootstrapServers": "kafka"},
        {"secrets": ["../x"]},
        {"workerSecrets": ["../x"]},
        {"plugins": {"images": [{"image": "x"}]}},
        {"image": {"pullPolicy": "Sometimes"}},
        {"terminationGracePeriodSeconds": 5},
        {"operator": {"enabled": True, "interval": 0}},
        {"operator": {"enabled": True, "namespace": "data"}},
        {"operator": {"enabled": True, "url": "prod:8083"}},
        {"secrets": ["db", "db"]},
        {"env": [{"name": "PORT", "value": 1}]},
        {"worker": {"a": "b\u2028c"}},
        {"podLabels": {"app.kubernetes.io/name": "mine"}},
        {"podAnnotations": {"checksum/worker-file": "mine"}},
    ],
    ids=str,
)
def test_values_that_make_no_sense_are_refused(chart: Chart, wrong: dict) -> None:
    done = chart.run("template", "prod", CHART, *AT, "-f", chart.values({**FEW, **wrong}))
    assert done.returncode != 0 and "values don't meet the specifications of the schema" in done.stderr


def test_without_brokers_it_says_what_to_set(chart: Chart) -> None:
    done = chart.run("template", "prod", CHART, *AT)
    assert done.returncode != 0 and "bootstrapServers: name Kafka's brokers" in done.stderr


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"service": {"port": 7078}, "executors": {"enabled": True}}, "service.port: executors reach Spark's driver on"),
        ({"worker": {"listeners": "https://:8443"}}, "let listeners have http://:8083 among them"),
        ({"autoscaling": {"enabled": True, "minReplicas": 7}}, "minReplicas is above maxReplicas"),
    ],
    ids=str,
)
def test_values_that_do_not_fit_each_other_are_refused(chart: Chart, wrong: dict, sentence: str) -> None:
    done = chart.run("template", "prod", CHART, *AT, "-f", chart.values({**FEW, **wrong}))
    assert done.returncode != 0 and sentence in done.stderr


def test_listeners_of_https_stand_beside_that_which_kubernetes_asks(chart: Chart) -> None:
    listeners = "https://:8443, http://0.0.0.0:8083"
    objects = chart.objects({**FEW, "worker": {"listeners": listeners}})
    assert properties.load(objects["ConfigMap", "kconnect-prod"]["data"]["worker.properties"])["listeners"] == listeners


def test_values_of_the_worker_file_keep_their_blanks(chart: Chart) -> None:
    wanted = {"a": "  before", "b": "\tbefore", "c": "behind\\", "zz": "behind  "}
    objects = chart.objects({**FEW, "worker": wanted})
    loaded = properties.load(objects["ConfigMap", "kconnect-prod"]["data"]["worker.properties"])
    assert wanted.items() <= loaded.items()


def test_plugins_are_copied_from_where_their_image_has_them(chart: Chart, tmp_path: Path) -> None:
    """The volume is mounted over nothing that is copied: not over /plugins, where most images have their plugins."""
    objects = chart.objects({**FEW, "plugins": {"images": [{"image": "registry.example.com/plugins:1", "path": "/plugins"}]}})
    pod = objects["StatefulSet", "kconnect-prod"]["spec"]["template"]["spec"]
    (container,) = pod["initContainers"]
    (mount,) = container["volumeMounts"]
    *command, path = container["command"]
    assert not Path(path).is_relative_to(mount["mountPath"])
    here, volume = tmp_path / "image", tmp_path / "volume"
    (here / "orders").mkdir(parents=True)
    volume.mkdir()
    words = [word.replace(mount["mountPath"], str(volume)) for word in command]
    subprocess.run([*words, str(here)], check=True, timeout=20)
    assert [path.name for path in volume.iterdir()] == ["orders"]
    (workers,) = pod["containers"]
    loaded = properties.load(objects["ConfigMap", "kconnect-prod"]["data"]["worker.properties"])
    assert {"name": mount["name"], "mountPath": loaded["plugin.path"], "readOnly": True} in workers["volumeMounts"]


def test_every_value_is_in_the_schema_and_on_the_page() -> None:
    known = json.loads((CHART / "values.schema.json").read_text("utf-8"))["properties"].keys() - {"global"}
    assert known == VALUES.keys()
    page = (DOCS / "kubernetes.md").read_text("utf-8")
    assert [name for name in VALUES if f"`{name}" not in page] == []


@both
def test_a_worker_takes_its_file(chart: Chart, values: dict) -> None:
    objects = chart.objects(values)
    loaded = properties.load(objects["ConfigMap", "kconnect-prod"]["data"]["worker.properties"])
    container = objects["StatefulSet", "kconnect-prod"]["spec"]["template"]["spec"]["containers"][0]
    environment = {"POD_NAME": "kconnect-prod-0", "POD_NAMESPACE": "data"}
    for each in container["env"]:
        if "value" in each:
            environment[each["name"]] = re.sub(r"\$\((\w+)\)", lambda name: environment[name[1]], each["value"])
    found = WorkerSettings.from_properties(loaded, environment)
    assert found.unknown_keys == ([] if values is FEW else ["rest.extension.note"])
    # By this name the others reach it: the StatefulSet's, in the service without an address of its own.
    assert found.advertised_url == "http://kconnect-prod-0.kconnect-prod-workers.data.svc:8083/"
    assert objects["StatefulSet", "kconnect-prod"]["spec"]["serviceName"] == "kconnect-prod-workers"
    headless = objects["Service", "kconnect-prod-workers"]["spec"]
    assert (headless["clusterIP"], headless["publishNotReadyAddresses"]) == ("None", True)
    assert found.group_id == "kconnect-prod"
    for name, text in values.get("worker", {}).items():
        assert loaded[name] == text
    assert loaded["bootstrap.servers"] == values["bootstrapServers"]
    if values is ALL:
        assert found.raw["spark.driver.host"] == "kconnect-prod-0.kconnect-prod-workers.data.svc"
        assert found.raw["spark.kubernetes.driver.pod.name"] == "kconnect-prod-0"
        mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
        assert {"/run/secrets/kconnect/crm.login", "/run/secrets/kconnect/db", loaded["plugin.path"]} <= mounts


def test_no_config_of_a_connector_can_name_the_worker_s_own_secrets(chart: Chart) -> None:
    """Whoever may create connectors would have Kafka's password, or the users file, sent to brokers of his own."""
    objects = chart.objects(ALL)
    loaded = properties.load(objects["ConfigMap", "kconnect-prod"]["data"]["worker.properties"])
    container = objects["StatefulSet", "kconnect-prod"]["spec"]["template"]["spec"]["containers"][0]
    found = WorkerSettings.from_properties(loaded, {"CONNECT_SASL_JAAS_CONFIG": "login"})
    assert found.raw["sasl.jaas.config"] == "login"
    mounts = {Path(mount["mountPath"]) for mount in container["volumeMounts"]}
    worker_s = {mount for mount in mounts if "kconnect-worker" in mount.parts}
    assert worker_s == {Path(loaded["rest.authentication.file"]).parent}
    # There is one provider, which reads nothing else, and connectors open no other files: not /proc either.
    assert loaded["config.providers"] == "secret"
    reached = [
        *loaded["config.providers.secret.param.allowed.paths"].split(","),
        *loaded["connector.files.allowed.paths"].split(","),
    ]
    assert set(reached) == {"/files", "/run/secrets/kconnect"}
    # Nor what the worker loads: jars are fetched to /tmp.
    assert Path("/files") in mounts
    assert not [each for each in (Path("/tmp/kconnect"), Path("/plugins")) if any(each.is_relative_to(p) for p in reached)]
    assert not [each for each in worker_s if any(each.is_relative_to(place) for place in reached)]
    few = properties.load(chart.objects(FEW)["ConfigMap", "kconnect-prod"]["data"]["worker.properties"])
    assert few["connector.files.allowed.paths"] == "/files"


@both
def test_ports_probes_and_selectors_fit(chart: Chart, values: dict) -> None:
    objects = chart.objects({**values, "service": {"port": 9000}})
    workers = objects["StatefulSet", "kconnect-prod"]
    pod = workers["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    sparks = {"driver": 7078, "blocks": 7079} if values is ALL else {}
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {"http": 9000, **sparks}
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/live",
        "liveness": "/live",
        "readiness": "/ready",
    }
    assert {probe["port"] for probe in probes.values()} == {"http"}
    labels = pod["metadata"]["labels"].items()
    for kind, key in (("Service", "selector"), ("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        selector = objects[kind, "kconnect-prod"]["spec"][key]
        assert labels >= selector.get("matchLabels", selector).items()
    assert pod["spec"]["terminationGracePeriodSeconds"] >= 45
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["spec"]["volumes"]}
    if values is ALL:
        url = objects["ScaledObject", "kconnect-prod"]["spec"]["triggers"][0]["metadata"]["url"]
        assert url == "http://kconnect-prod.data.svc:9000/cluster/demand"
        assert "replicas" not in workers["spec"], "or each upgrade would take back what KEDA has set"


@pytest.mark.parametrize(
    ("values", "pods"),
    [(FEW, ("StatefulSet", "kconnect-prod")), (ALL, ("StatefulSet", "kconnect-prod")), (ALL, OPERATOR), (ALL, EXECUTOR)],
    ids=["few", "all", "operator", "executor"],
)
def test_pods_are_as_the_restricted_standard_wants_them(chart: Chart, values: dict, pods: tuple[str, str]) -> None:
    objects = chart.objects(values)
    if pods == EXECUTOR:
        pod = yaml.safe_load(objects["ConfigMap", "kconnect-prod"]["data"]["executor.yaml"])["spec"]
    else:
        pod = objects[pods]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert str(pod["securityContext"]["runAsUser"]) == image.only("USER").text
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        security = container["securityContext"]
        assert (security["allowPrivilegeEscalation"], security["readOnlyRootFilesystem"]) == (False, True)
        assert security["capabilities"] == {"drop": ["ALL"]}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert all({"configMap", "emptyDir", "secret"} & volume.keys() for volume in pod["volumes"])
    asks = pods == OPERATOR or (pods != EXECUTOR and values is ALL)
    assert pod["automountServiceAccountToken"] is asks, "only the operator, and who makes executors, asks Kubernetes anything"


def test_kubernetes_knows_every_field_of_an_executor(chart: Chart) -> None:
    """Nobody but Spark would say so. As part of a kind whose schema is here."""
    objects = chart.objects(ALL)
    executor = yaml.safe_load(objects["ConfigMap", "kconnect-prod"]["data"]["executor.yaml"])
    labels = executor["metadata"]["labels"]
    # What Spark adds.
    executor["spec"]["containers"][0]["image"] = "i"
    pods = {key: executor[key] for key in ("metadata", "spec")}
    around = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "e"}}
    whole = {**around, "spec": {"selector": {"matchLabels": labels}, "template": pods}}
    assert chart.complaints(yaml.safe_dump(whole)) == ""
    mounted = {mount["name"] for mount in executor["spec"]["containers"][0]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in executor["spec"]["volumes"]}


def test_executors_reach_their_worker_and_are_counted_as_none(chart: Chart) -> None:
    objects = chart.objects(ALL)
    labels = yaml.safe_load(objects["ConfigMap", "kconnect-prod"]["data"]["executor.yaml"])["metadata"]["labels"]
    for kind, key in (("Service", "selector"), ("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        selector = objects[kind, "kconnect-prod"]["spec"][key]
        assert not labels.items() >= selector.get("matchLabels", selector).items()
    (peer,) = objects["NetworkPolicy", "kconnect-prod"]["spec"]["ingress"][1]["from"]
    assert labels.items() >= peer["podSelector"]["matchLabels"].items()
    own = objects["NetworkPolicy", "kconnect-prod-executors"]["spec"]
    assert labels.items() >= own["podSelector"]["matchLabels"].items()
    binding = objects["RoleBinding", "kconnect-prod-executors"]
    assert [each["name"] for each in binding["subjects"]] == ["kconnect-prod"]


def test_another_template_of_executors_is_another_pod(chart: Chart) -> None:
    def pod(disk: str) -> dict:
        values = {**FEW, "executors": {"enabled": True}, "nodeSelector": {"disk": disk}}
        return chart.objects(values)["StatefulSet", "kconnect-prod"]["spec"]["template"]["metadata"]

    assert pod("a") == pod("a") != pod("b")


def test_another_worker_file_is_another_pod(chart: Chart) -> None:
    def pod(**worker: str) -> dict:
        return chart.objects({**FEW, "worker": worker})["StatefulSet", "kconnect-prod"]["spec"]["template"]

    assert pod(a="1") == pod(a="1") != pod(a="2")


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("prod", "kconnect-prod"),
        ("kconnect", "kconnect"),
        ("kconnect-b", "kconnect-b"),
        # Helm takes such a name, and Kubernetes no service that has it.
        ("data.prod", "kconnect-data-prod"),
    ],
)
def test_names_begin_as_alerts_want_jobs_to(chart: Chart, release: str, name: str) -> None:
    objects = chart.objects({**FEW, "serviceMonitor": {"enabled": True}}, release)
    job = objects["ServiceMonitor", name]["spec"]["endpoints"][0]["relabelings"][-1]
    assert (job["targetLabel"], job["replacement"]) == ("job", name)


def test_the_operators_command_is_one_that_it_takes(chart: Chart) -> None:
    pod = chart.objects(ALL)[OPERATOR]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"][:2] == ["kconnect", "operator"]
    context = operator.make_context("operator", container["args"][2:])
    wanted = {
        "url": "http://kconnect-prod.data.svc:8083",
        "namespaces": ("data", "more"),
        "cluster": "my-connect",
        "strimzi": True,
        "interval": 30.0,
    }
    assert wanted.items() <= context.params.items()
    assert container["ports"][0]["containerPort"] == context.params["health_port"]
    few = chart.objects({**FEW, "operator": {"enabled": True}})[OPERATOR]["spec"]["template"]["spec"]["containers"][0]
    assert operator.make_context("operator", few["args"][2:]).params["namespaces"] == ("data",)


def test_the_operator_may_do_nothing_but_its_work(chart: Chart) -> None:
    rendered = [each for each in yaml.safe_load_all(chart.rendered(ALL)) if each]
    assert not [each for each in rendered if each["kind"].startswith("Cluster")]
    roles = [each for each in rendered if each["kind"] == "Role" and each["metadata"]["name"] == OPERATOR[1]]
    assert [role["metadata"]["namespace"] for role in roles] == ["data", "more"]
    for role in roles:
        allowed = {resource: rule["verbs"] for rule in role["rules"] for resource in rule["resources"]}
        assert allowed == {
            **{kind: ["get", "list", "watch", "patch"] for kind in ("connectors", "kafkaconnectors")},
            **{f"{kind}/status": ["patch"] for kind in ("connectors", "kafkaconnectors")},
            "events": ["create"],
        }
    bindings = [each for each in rendered if each["kind"] == "RoleBinding" and each["metadata"]["name"] == OPERATOR[1]]
    assert {(each["subjects"][0]["name"], each["subjects"][0]["namespace"]) for each in bindings} == {(OPERATOR[1], "data")}
    assert not [each for each in chart.objects(FEW) if "operator" in each[1]]


def test_the_operators_pod_is_none_of_the_workers_and_reaches_them(chart: Chart) -> None:
    objects = chart.objects(ALL)
    labels = objects[OPERATOR]["spec"]["template"]["metadata"]["labels"]
    for kind, key in (("Service", "selector"), ("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        selector = objects[kind, "kconnect-prod"]["spec"][key]
        assert not labels.items() >= selector.get("matchLabels", selector).items()
    peers = objects["NetworkPolicy", "kconnect-prod"]["spec"]["ingress"][0]["from"]
    assert any(labels.items() >= peer.get("podSelector", {}).get("matchLabels", {"no": "one"}).items() for peer in peers)


def test_the_chart_has_the_definition_that_the_operator_prints() -> None:
    with (CHART / "crds" / "connectors.yaml").open(encoding="utf-8") as file:
        assert yaml.safe_load(file) == crd.definition(), "write it: kconnect operator --crd > docker/chart/crds/connectors.yaml"
