"""The location of an item, asked for as a client would."""

import io
import json

import pytest
from stockroom.api import application
from stockroom.storage import Storage


@pytest.fixture
def app(tmp_path):
    storage = Storage(str(tmp_path / "items.db"))
    yield application(storage)
    storage.close()


def ask(app, method, path, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    seen = []
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_LENGTH": str(len(data))}
    chunks = app(environ | {"wsgi.input": io.BytesIO(data)}, lambda status, headers: seen.append(status))
    return int(seen[0].split()[0]), b"".join(chunks).decode()


def put(app, **more):
    return ask(app, "PUT", "/items/h-1", {"name": "Hinge", "quantity": 12, **more})


def location(app):
    return json.loads(ask(app, "GET", "/items/h-1")[1])["location"]


def test_a_location_comes_back_until_another_is_put(app):
    put(app, location="aisle 4")
    assert location(app) == "aisle 4"
    put(app, location="aisle 5")
    assert location(app) == "aisle 5"
    put(app)
    assert location(app) == ""


def test_a_location_is_the_last_column(app):
    put(app, location="aisle 4")
    assert ask(app, "GET", "/items.csv")[1] == "sku,name,quantity,location\nh-1,Hinge,12,aisle 4\n"


@pytest.mark.parametrize(("place", "status"), [("x" * 40, 201), ("x" * 41, 400), (4, 400), (None, 400)])
def test_what_a_location_may_be(app, place, status):
    assert put(app, location=place)[0] == status
