"""The newest version seen of each object, whoever brought it: a list, a watch, or the answer to our own write.

Resource versions are compared as numbers, which Kubernetes 1.35 made official and etcd has always kept. An older
version never replaces a newer one, so a late event cannot undo what the operator itself wrote.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

Object = dict[str, Any]


class Key(NamedTuple):
    """Namespace and name; the namespace is empty for cluster-wide kinds."""

    namespace: str
    name: str


def key_of(obj: Object) -> Key:
    """The key of an object."""
    return Key(obj["metadata"].get("namespace") or "", obj["metadata"]["name"])


def version_of(obj: Object) -> int:
    """The resource version as a number; 0 where there is none."""
    text = obj.get("metadata", {}).get("resourceVersion") or "0"
    return int(text) if text.isdecimal() else 0


def without_managers(obj: Object) -> Object:
    """The object without its field management, which is the largest part of most and which nobody here reads."""
    obj["metadata"].pop("managedFields", None)
    return obj


class Cache:
    """Objects of one kind by key, each as `slim` leaves it: tens of thousands of pods are held only as far as read."""

    def __init__(self, slim: Callable[[Object], Object] = without_managers) -> None:
        self._objects: dict[Key, Object] = {}
        self.slim = slim

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Object]:
        return iter(list(self._objects.values()))

    def get(self, key: Key) -> Object | None:
        """The object, or None."""
        return self._objects.get(key)

    def put(self, obj: Object) -> bool:
        """Keep the object if it is newer than what is known; says whether it was."""
        key = key_of(obj)
        known = self._objects.get(key)
        if known is not None and version_of(known) >= version_of(obj):
            return False
        self._objects[key] = self.slim(obj)
        return True

    def drop(self, obj: Object) -> bool:
        """Forget a deleted object, unless a newer one took its name; says whether it was known."""
        key = key_of(obj)
        known = self._objects.get(key)
        if known is None or version_of(known) > version_of(obj):
            return False
        del self._objects[key]
        return True

    def forget(self, key: Key) -> None:
        """Forget whatever has this key: a live read found nothing there."""
        self._objects.pop(key, None)

    def replace(self, objects: Iterable[Object], version: int) -> set[Key]:
        """Take over a complete list as of `version`; the keys that came, went or changed.

        What is newer than the list, because our own write was answered after the list was taken, stays.
        """
        listed = {key_of(obj): obj for obj in objects}
        gone = {k for k, known in self._objects.items() if k not in listed and version_of(known) <= version}
        for key in gone:
            del self._objects[key]
        return gone | {key for key, obj in listed.items() if self.put(obj)}
