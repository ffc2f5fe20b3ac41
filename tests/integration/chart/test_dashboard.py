"""The Grafana dashboard: every metric that it asks for is one that the operator or the gateway serves."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import yaml
from fairtrial_gateway.metrics import Metrics
from fairtrial_operator.metrics import REGISTRY

from tests.integration.chart.test_templates import CHART, VALUES, helm, template

__all__ = ["helm", "template"]
DASHBOARD = json.loads((CHART / "dashboards" / "fairtrial.json").read_text())
ROOT = Path(__file__).parents[3]
Template = Callable[[dict[str, Any]], CompletedProcess[str]]


def served() -> set[str]:
    """The names of all samples, as a scrape shows them."""
    found = set()
    for family in [*REGISTRY.collect(), *Metrics().registry.collect()]:
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        found |= {family.name + suffix for suffix in suffixes}
    return found


def asked_for() -> set[str]:
    expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
    expressions += [variable["query"] for variable in DASHBOARD["templating"]["list"]]
    return {name for text in expressions for name in re.findall(r"fairtrial_\w+", text)}


def test_every_metric_of_the_dashboard_is_served():
    assert asked_for() - served() == set()
    assert len(asked_for()) > 25


def test_what_the_documentation_tells_to_look_at_is_on_the_dashboard():
    told = set(re.findall(r"`(fairtrial_\w+)", (ROOT / "docs" / "operations.md").read_text())) & served()
    assert told - asked_for() - {"fairtrial_gateway_bytes_total"} == set()


def test_panels_do_not_overlap_and_have_a_title():
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert panel["title"]
        assert not cells & taken
        taken |= cells


def test_the_chart_brings_it_only_where_it_is_asked_for(template: Template):
    def maps(values: dict[str, Any]) -> list[dict[str, Any]]:
        done = template(VALUES | values)
        assert done.returncode == 0, done.stderr
        found = [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "ConfigMap"]
        return [one for one in found if one["metadata"]["name"] == "fairtrial-dashboard"]

    assert maps({}) == []
    (made,) = maps({"grafanaDashboard": {"enabled": True}})
    assert made["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(made["data"]["fairtrial.json"]) == DASHBOARD
