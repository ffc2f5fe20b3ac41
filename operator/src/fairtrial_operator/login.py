"""Who the operator is for the API server: the pod's service account, or the kubeconfig. For Kopf and for `Kube`.

Kopf's own readers of both are used, since the official client takes 20 MB for what is a file or two. They know tokens,
client certificates and passwords in a kubeconfig, and no plugins that fetch one; in a cluster there is no kubeconfig.
"""

import logging
import os
import time
from dataclasses import replace
from typing import Any

import kopf

from fairtrial.errors import InvalidInput

log = logging.getLogger(__name__)
REREAD_SECONDS = 60.0  # the kubelet renews a token when a fifth of its hour is left


def login(**_: Any) -> kopf.ConnectionInfo:
    """The server's address and our credentials, read anew; InvalidInput where there are none."""
    plain = kopf.OperatorSettings()
    own = kopf.login_with_service_account(settings=plain)
    if own is not None:
        # By address, as the kubelet gives it: kopf's default is a name, and a cluster need not have DNS.
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
        return replace(own, server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}")
    try:
        found = kopf.login_with_kubeconfig(settings=plain)
    except (kopf.LoginError, OSError, KeyError) as error:
        raise InvalidInput(f"KUBECONFIG: {error!r}. Name a kubeconfig with a current context.") from error
    if found is None or not found.server:
        raise InvalidInput("There is neither a service account nor a kubeconfig. Set KUBECONFIG.")
    return found


class Credentials:
    """The headers that say who we are; a service account's token is read again as the kubelet renews it."""

    def __init__(self, info: kopf.ConnectionInfo) -> None:
        self._headers: dict[str, str] = info.as_http_headers()
        self._read_at = time.monotonic()

    def headers(self) -> dict[str, str]:
        """For one request."""
        if time.monotonic() - self._read_at > REREAD_SECONDS:
            self._read_at = time.monotonic()
            try:
                self._headers = login().as_http_headers()
            except (InvalidInput, OSError) as error:  # what is known may still be good; if not, the API server says so
                log.warning("our credentials can't be read anew, and are kept: %s", error)
        return self._headers
