"""Puts the parts together."""

import importlib
import pkgutil
from dataclasses import dataclass

from courier import channels
from courier.archive import Archive
from courier.digest import Digest
from courier.events import Bus
from courier.fallback import Fallback
from courier.intake import Intake
from courier.queue import Queue
from courier.report import Report
from courier.worker import Worker


@dataclass(frozen=True)
class Courier:
    """A whole courier."""

    intake: Intake
    digest: Digest
    worker: Worker
    archive: Archive
    report: Report


def build() -> Courier:
    """A courier with every channel that there is a module for."""
    for module in pkgutil.iter_modules(channels.__path__):
        importlib.import_module(f"{channels.__name__}.{module.name}")
    queue, bus = Queue(), Bus()
    digest, archive, report = Digest(queue), Archive(queue), Report()
    fallback = Fallback(digest.add)
    bus.subscribe("given_up", fallback.given_up)
    bus.subscribe("delivered", archive.delivered)
    bus.subscribe("delivered", report.delivered)
    return Courier(Intake(digest.add), digest, Worker(queue, bus), archive, report)
