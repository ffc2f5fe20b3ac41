"""Keeps every namespace that takes part ready before its first run: deny-all, the gateway, the powerless account."""

import logging

from fairtrial import names
from fairtrial_operator import policies
from fairtrial_operator.cache import Key
from fairtrial_operator.kube import POLICIES, SERVICE_ACCOUNTS, Forbidden, Kube, NotFound
from fairtrial_operator.observe import missing_policies, namespace_view
from fairtrial_operator.settings import Settings
from fairtrial_operator.state import State

log = logging.getLogger(__name__)


class NamespaceKeeper:
    """Puts in place what is missing; writes nothing where everything is as it must be."""

    def __init__(self, kube: Kube, state: State, settings: Settings) -> None:
        self._kube, self._state, self._settings = kube, state, settings

    async def reconcile(self, name: str) -> None:
        """Make one namespace ready, and wake the runs that waited for it."""
        view = namespace_view(self._state, self._settings, name)
        if view is None or not view.selected or view.terminating:
            self._state.accounts.discard(name)
            self._state.wake_namespace(name)
        else:
            await self._prepare(name)
        self._state.referenced_changed("Namespace", Key("", name))

    async def _prepare(self, name: str) -> None:
        try:
            for policy in missing_policies(self._state, self._settings, name):
                log.info("applying %s in namespace %s", policy["metadata"]["name"], name)
                self._state.policies.put(await self._kube.apply(POLICIES, policy))
            if name not in self._state.accounts:
                await self._account(name)
        except Forbidden as error:
            # It may be going away: then its runs end as they are, and nothing new begins in it.
            log.warning("namespace %s can't be prepared: %s", name, error)

    async def _account(self, name: str) -> None:
        wanted = policies.service_account(name)
        try:
            live = await self._kube.get(SERVICE_ACCOUNTS, names.SERVICE_ACCOUNT, name)
        except NotFound:
            live = {}
        if live.get("automountServiceAccountToken") is not False:
            await self._kube.apply(SERVICE_ACCOUNTS, wanted)
        self._state.accounts.add(name)
