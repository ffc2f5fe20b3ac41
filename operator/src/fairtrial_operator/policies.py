"""What a namespace of runs has before any pod exists: deny everything, allow the gateway, an account without rights.

Pure. The rules know no address family: a policy without an IP block holds for IPv4 and IPv6 alike. Other policies can
only allow more; whether anything can be reached all the same is what each run's isolation proof finds out.
"""

from typing import Any

from fairtrial import names

Object = dict[str, Any]
GATEWAY_PORT = 8080


def static(namespace: str, gateway_namespace: str) -> list[Object]:
    """The policies that every namespace of runs has."""
    return [deny_all(namespace), allow_gateway(namespace, gateway_namespace)]


def deny_all(namespace: str) -> Object:
    """No pod of the namespace may talk to anybody, nor be talked to."""
    return _policy(
        names.POLICY_DENY_ALL,
        namespace,
        {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
    )


def allow_gateway(namespace: str, gateway_namespace: str) -> Object:
    """The run's pods may reach the gateway's pods on one port; nobody may reach the run's pods."""
    gateway = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": gateway_namespace}},
        "podSelector": {"matchLabels": {names.GATEWAY_LABEL: "true"}},
    }
    roles = {"key": names.ROLE_LABEL, "operator": "In", "values": [names.AGENT, names.EVALUATOR]}
    return _policy(
        names.POLICY_ALLOW_GATEWAY,
        namespace,
        {
            "podSelector": {"matchExpressions": [roles]},
            "policyTypes": ["Egress"],
            "egress": [{"to": [gateway], "ports": [{"protocol": "TCP", "port": GATEWAY_PORT}]}],
        },
    )


def service_account(namespace: str) -> Object:
    """The account that the run's pods have: bound to no role, and mounting no token."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(names.SERVICE_ACCOUNT, namespace),
        "automountServiceAccountToken": False,
    }


def _policy(name: str, namespace: str, spec: Object) -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(name, namespace),
        "spec": spec,
    }


def _metadata(name: str, namespace: str) -> Object:
    return {"name": name, "namespace": namespace, "labels": {names.MANAGED_BY_LABEL: names.MANAGED_BY}}
