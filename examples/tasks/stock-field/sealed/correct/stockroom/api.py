"""The application: requests in, JSON and CSV out."""

import csv
import io
import json
from http import HTTPStatus

from stockroom.storage import Item, Storage

LOCATION_MAX = 40


class BadRequest(Exception):
    """What is wrong with a request."""


def application(storage: Storage):
    """A WSGI application that serves what is in `storage`."""

    def app(environ, start_response):
        try:
            status, kind, text = _answer(storage, environ)
        except BadRequest as error:
            status, kind, text = 400, "application/json", json.dumps({"error": str(error)})
        start_response(f"{status} {HTTPStatus(status).phrase}", [("Content-Type", kind)])
        return [text.encode()]

    return app


def _answer(storage: Storage, environ) -> tuple[int, str, str]:
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    if method == "GET" and path == "/items.csv":
        return 200, "text/csv", _csv(storage.all())
    if method == "GET" and path == "/items":
        return 200, "application/json", json.dumps([_shown(item) for item in storage.all()])
    sku = path.removeprefix("/items/")
    if sku == path or not sku or method not in ("GET", "PUT"):
        return 404, "application/json", json.dumps({"error": "there is nothing here"})
    if method == "PUT":
        item = _item(sku, environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
        is_new = storage.save(item)
        return 201 if is_new else 200, "application/json", json.dumps(_shown(item))
    found = storage.find(sku)
    if found is None:
        return 404, "application/json", json.dumps({"error": f"there is no {sku}"})
    return 200, "application/json", json.dumps(_shown(found))


def _item(sku: str, body: bytes) -> Item:
    try:
        given = json.loads(body)
    except ValueError:
        raise BadRequest("the body is not JSON") from None
    if not isinstance(given, dict):
        raise BadRequest("the body is not an object")
    name, quantity = given.get("name"), given.get("quantity")
    if not isinstance(name, str) or not name:
        raise BadRequest("name must be text")
    if type(quantity) is not int or quantity < 0:
        raise BadRequest("quantity must be a whole number from 0")
    location = given.get("location", "")
    if not isinstance(location, str) or len(location) > LOCATION_MAX:
        raise BadRequest(f"location must be text of at most {LOCATION_MAX} characters")
    return Item(sku, name, quantity, location)


def _shown(item: Item) -> dict[str, object]:
    return {"sku": item.sku, "name": item.name, "quantity": item.quantity, "location": item.location}


def _csv(items: list[Item]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["sku", "name", "quantity", "location"])
    writer.writerows([item.sku, item.name, item.quantity, item.location] for item in items)
    return text.getvalue()
