"""The application, asked as a client would."""

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
    """Status and body of the answer to one request."""
    data = b"" if body is None else json.dumps(body).encode()
    seen = []
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_LENGTH": str(len(data))}
    chunks = app(environ | {"wsgi.input": io.BytesIO(data)}, lambda status, headers: seen.append(status))
    return int(seen[0].split()[0]), b"".join(chunks).decode()


def test_an_item_comes_back(app):
    assert ask(app, "PUT", "/items/h-1", {"name": "Hinge", "quantity": 12})[0] == 201
    status, text = ask(app, "GET", "/items/h-1")
    assert status == 200
    assert json.loads(text)["quantity"] == 12


def test_the_last_put_counts(app):
    ask(app, "PUT", "/items/h-1", {"name": "Hinge", "quantity": 12})
    assert ask(app, "PUT", "/items/h-1", {"name": "Hinge", "quantity": 11})[0] == 200
    assert json.loads(ask(app, "GET", "/items/h-1")[1])["quantity"] == 11


def test_what_is_not_there_is_not_found(app):
    assert ask(app, "GET", "/items/none")[0] == 404


@pytest.mark.parametrize("body", [None, [], {"name": "Hinge"}, {"name": "", "quantity": 1}])
def test_nonsense_is_refused(app, body):
    assert ask(app, "PUT", "/items/h-1", body)[0] == 400
    assert ask(app, "GET", "/items/h-1")[0] == 404


def test_csv_begins_with_a_header(app):
    ask(app, "PUT", "/items/h-1", {"name": "Hinge", "quantity": 12})
    assert ask(app, "GET", "/items.csv")[1].splitlines()[1].startswith("h-1,Hinge,12")
