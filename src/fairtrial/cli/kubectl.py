"""The user's own kubectl, started without a shell: it already knows their contexts, logins and plugins."""

import json
import shutil
import subprocess
from typing import Any

from fairtrial.errors import FairtrialError


class KubectlFailed(FairtrialError):
    """kubectl refused or could not reach the cluster; its own words are the message."""

    reason = "KubectlFailed"


class Kubectl:
    """One context of one kubeconfig. `context=None` means the current one."""

    def __init__(self, context: str | None = None, namespace: str | None = None) -> None:
        program = shutil.which("kubectl")
        if program is None:
            raise KubectlFailed("kubectl is not on the PATH.", next_move="Install it, or run `make up` here.")
        self._base = [program]
        if context:
            self._base += ["--context", context]
        if namespace:
            self._base += ["--namespace", namespace]

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """Standard output of one call; a failure raises with what kubectl said."""
        done = subprocess.run([*self._base, *arguments], input=stdin, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise KubectlFailed(f"kubectl {arguments[0]}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def get(self, *arguments: str) -> dict[str, Any]:
        """The parsed JSON of `kubectl get …`."""
        parsed: dict[str, Any] = json.loads(self.run("get", *arguments, "-o", "json"))
        return parsed

    def apply(self, manifests: str, *arguments: str) -> str:
        """Server-side apply of a YAML stream."""
        return self.run(
            "apply", "--server-side", "--field-manager=fairtrial-cli", "-f", "-", *arguments, stdin=manifests
        )
