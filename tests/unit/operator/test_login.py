import kopf
import pytest
from fairtrial_operator import login

from fairtrial.errors import InvalidInput

KUBECONFIG = """\
current-context: here
contexts: [{name: here, context: {cluster: near, user: me}}]
clusters: [{name: near, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: me, user: {token: mine}}]
"""


def test_a_kubeconfig_says_where_and_who(tmp_path, monkeypatch):
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(path))

    found = login.login()

    assert (found.server, found.as_http_headers()) == ("https://127.0.0.1:6443", {"Authorization": "Bearer mine"})


@pytest.mark.parametrize(
    "text", ["", KUBECONFIG.replace("current-context: here", "{}"), KUBECONFIG.replace("me}", "x}")]
)
def test_a_kubeconfig_that_names_nobody_is_refused_with_the_way_out(text, tmp_path, monkeypatch):
    path = tmp_path / "config"
    path.write_text(text.replace("{}\n", ""))
    monkeypatch.setenv("KUBECONFIG", str(path))

    with pytest.raises(InvalidInput, match=r"KUBECONFIG: .* Name a kubeconfig with a current context"):
        login.login()


def test_without_any_the_variable_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    with pytest.raises(InvalidInput, match="Set KUBECONFIG"):
        login.login()


def test_in_a_pod_the_server_is_found_by_its_address(monkeypatch):
    account = kopf.ConnectionInfo(server="https://kubernetes.default.svc", token="pod")
    monkeypatch.setattr(kopf, "login_with_service_account", lambda **_: account)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    for host, server in {"198.19.16.1": "https://198.19.16.1:443", "fd00::1": "https://[fd00::1]:443"}.items():
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)

        assert login.login().server == server


def test_a_token_is_read_again_as_the_kubelet_renews_it(monkeypatch):
    now, tokens = [0.0], iter(["second", "third"])
    monkeypatch.setattr(login.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(login, "login", lambda: kopf.ConnectionInfo(server="https://x", token=next(tokens)))
    credentials = login.Credentials(kopf.ConnectionInfo(server="https://x", token="first"))

    said = []
    for now[0] in (59.0, 61.0, 120.0, 122.0):
        said.append(credentials.headers()["Authorization"])

    assert said == ["Bearer first", "Bearer second", "Bearer second", "Bearer third"]


def test_a_token_that_cannot_be_read_just_now_is_kept_until_it_can(monkeypatch):
    now, found = [0.0], [InvalidInput("gone"), OSError("busy"), kopf.ConnectionInfo(server="https://x", token="second")]

    def read():
        one = found.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    monkeypatch.setattr(login.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(login, "login", read)
    credentials = login.Credentials(kopf.ConnectionInfo(server="https://x", token="first"))

    said = []
    for now[0] in (61.0, 122.0, 183.0):
        said.append(credentials.headers()["Authorization"])

    assert said == ["Bearer first", "Bearer first", "Bearer second"]
