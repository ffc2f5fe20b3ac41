"""The location, everywhere that an item is taken in or shown; through the application alone."""

import io
import json

import pytest
from stockroom.api import application
from stockroom.storage import Storage

PLACE = "Halle 2, Gang 7 – oben, \"B\""


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "items.db")


def ask(app, method, path, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    seen = []
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_LENGTH": str(len(data))}
    chunks = app(environ | {"wsgi.input": io.BytesIO(data)}, lambda status, headers: seen.append(status))
    return int(seen[0].split()[0]), b"".join(chunks).decode()


def put(app, sku="h-1", **more):
    return ask(app, "PUT", f"/items/{sku}", {"name": "Hinge", "quantity": 12, **more})


def shown(app, sku="h-1"):
    return json.loads(ask(app, "GET", f"/items/{sku}")[1])


def test_put_answers_with_it(file):
    app = application(Storage(file))
    status, text = put(app, location=PLACE)
    assert (status, json.loads(text)) == (201, {"sku": "h-1", "name": "Hinge", "quantity": 12, "location": PLACE})


def test_it_is_shown_alone_and_in_the_list(file):
    app = application(Storage(file))
    put(app, "h-2", location=PLACE)
    put(app, "h-1")
    assert shown(app, "h-2")["location"] == PLACE
    listed = json.loads(ask(app, "GET", "/items")[1])
    assert [(item["sku"], item["location"]) for item in listed] == [("h-1", ""), ("h-2", PLACE)]


def test_it_survives_a_restart(file):
    first = Storage(file)
    put(application(first), location=PLACE)
    first.close()
    assert shown(application(Storage(file)))["location"] == PLACE


def test_a_put_replaces_the_whole_item(file):
    app = application(Storage(file))
    put(app, location="here")
    assert put(app, location=PLACE)[0] == 200
    assert shown(app)["location"] == PLACE
    put(app)
    assert shown(app)["location"] == ""


def test_the_last_column_of_the_csv(file):
    import csv

    app = application(Storage(file))
    put(app, location=PLACE)
    rows = list(csv.reader(io.StringIO(ask(app, "GET", "/items.csv")[1])))
    assert rows == [["sku", "name", "quantity", "location"], ["h-1", "Hinge", "12", PLACE]]


def test_forty_characters_fit(file):
    app = application(Storage(file))
    assert put(app, location="ü" * 40)[0] == 201
    assert shown(app)["location"] == "ü" * 40


@pytest.mark.parametrize("place", ["x" * 41, 7, None, ["aisle"], True], ids=["long", "number", "null", "list", "true"])
def test_others_are_refused_and_not_stored(file, place):
    app = application(Storage(file))
    assert put(app, location=place)[0] == 400
    assert ask(app, "GET", "/items/h-1")[0] == 404


def test_clients_that_know_nothing_of_it(file):
    app = application(Storage(file))
    assert put(app)[0] == 201
    assert {key: shown(app)[key] for key in ("sku", "name", "quantity")} == {"sku": "h-1", "name": "Hinge", "quantity": 12}
    assert put(app, quantity=-1)[0] == 400
    assert ask(app, "GET", "/items/none")[0] == 404
