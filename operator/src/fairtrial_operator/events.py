"""Kubernetes events: at most one per object and reason, so that repetition costs nothing."""

import logging
from datetime import UTC, datetime

from fairtrial import names
from fairtrial.api import ObjectMeta
from fairtrial_operator.kube import EVENTS, AlreadyExists, ApiError, Kube, Resource
from fairtrial_operator.seen import Event

log = logging.getLogger(__name__)


async def post(kube: Kube, resource: Resource, metadata: ObjectMeta, event: Event, *, warning: bool = True) -> None:
    """Post an event, once per object and reason; an event that can't be posted stops nothing."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"apiVersion": resource.api_version, "kind": resource.kind, "uid": metadata.uid}
    about |= {"name": metadata.name, "namespace": metadata.namespace}
    body = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {
            "name": f"{metadata.name}.{metadata.uid[:8]}.{event.reason.lower()}",
            "namespace": metadata.namespace,
        },
        "involvedObject": about,
        "type": "Warning" if warning else "Normal",
        "reason": event.reason,
        "message": event.message[:1024],
        "source": {"component": names.FIELD_MANAGER},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        await kube.create(EVENTS, body)
    except AlreadyExists:
        return
    except ApiError as error:
        log.warning("event %s of %s/%s was not posted: %s", event.reason, metadata.namespace, metadata.name, error)
