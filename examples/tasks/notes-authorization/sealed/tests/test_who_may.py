"""Everybody tries to delete everything, on every way there is."""

import pytest
from notes.access import Forbidden, NotFound
from notes.model import Member, Workspace
from notes.service import Notes

OWNER, AUTHOR, WRITER, SUSPENDED_AUTHOR, SUSPENDED_OWNER, STRANGER, GONE = 1, 2, 3, 4, 5, 6, 7


@pytest.fixture
def home():
    people = {
        OWNER: Member(OWNER, "Ana", "owner"),
        AUTHOR: Member(AUTHOR, "Sam"),
        WRITER: Member(WRITER, "Sam"),  # of the same name
        SUSPENDED_AUTHOR: Member(SUSPENDED_AUTHOR, "Kim"),
        SUSPENDED_OWNER: Member(SUSPENDED_OWNER, "Lee", "owner"),
        GONE: Member(GONE, "Pat"),
    }
    return Workspace("home", people)


@pytest.fixture
def notes(home):
    made = Notes([home, Workspace("office", {STRANGER: Member(STRANGER, "Zoe", "owner")})])
    for author in (AUTHOR, SUSPENDED_AUTHOR, GONE):
        made.write(author, "home", f"by {author}", folder=f"of-{author}")
    for who, role in ((SUSPENDED_AUTHOR, "writer"), (SUSPENDED_OWNER, "owner")):
        home.members[who] = Member(who, "Kim", role, suspended=True)
    del home.members[GONE]
    return made


def ids(notes):
    return {note.author_id: note.id for note in notes.list(OWNER, "home")}


WAYS = {
    "delete": lambda notes, who, author: notes.delete(who, ids(notes)[author]),
    "delete_many": lambda notes, who, author: notes.delete_many(who, [ids(notes)[author]]),
    "empty_folder": lambda notes, who, author: notes.empty_folder(who, "home", f"of-{author}"),
}


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.mark.parametrize(
    ("who", "author"),
    [(OWNER, AUTHOR), (OWNER, SUSPENDED_AUTHOR), (OWNER, GONE), (AUTHOR, AUTHOR)],
    ids=["owner", "owner-of-suspended", "owner-of-gone", "author"],
)
def test_may(notes, way, who, author):
    way(notes, who, author)
    assert author not in ids(notes)
    assert len(ids(notes)) == 2


@pytest.mark.parametrize(
    ("who", "author", "error"),
    [
        (WRITER, AUTHOR, Forbidden),
        (WRITER, GONE, Forbidden),
        (SUSPENDED_AUTHOR, SUSPENDED_AUTHOR, Forbidden),
        (SUSPENDED_OWNER, AUTHOR, Forbidden),
        (STRANGER, AUTHOR, NotFound),
        (GONE, GONE, NotFound),
    ],
    ids=["writer", "writer-of-gone", "suspended-author", "suspended-owner", "stranger", "gone"],
)
def test_may_not(notes, way, who, author, error):
    before = ids(notes)
    with pytest.raises(error):
        way(notes, who, author)
    assert ids(notes) == before


def test_several_at_once_are_deleted_or_none(notes):
    first = notes.write(WRITER, "home", "a", folder="mixed").id
    theirs = notes.write(AUTHOR, "home", "b", folder="mixed").id
    last = notes.write(WRITER, "home", "c", folder="mixed").id
    before = [note.id for note in notes.list(OWNER, "home")]
    for attempt in (
        lambda: notes.delete_many(WRITER, [first, theirs, last]),
        lambda: notes.delete_many(WRITER, [last, theirs, first]),
        lambda: notes.empty_folder(WRITER, "home", "mixed"),
    ):
        with pytest.raises(Forbidden):
            attempt()
        assert [note.id for note in notes.list(OWNER, "home")] == before
    notes.delete_many(WRITER, [last, first])
    assert WRITER not in ids(notes)


def test_a_note_that_is_not_there_looks_the_same_to_strangers(notes):
    errors = []
    for note_id in (ids(notes)[AUTHOR], 999):
        with pytest.raises(NotFound) as caught:
            notes.delete(STRANGER, note_id)
        errors.append(caught.value.args)
    assert errors[0] == errors[1]


def test_reading_and_writing_are_as_they_were(notes):
    assert notes.read(SUSPENDED_AUTHOR, ids(notes)[AUTHOR]).text == "by 2"
    assert notes.read(WRITER, ids(notes)[AUTHOR]).author_id == AUTHOR
    assert notes.write(WRITER, "home", "more").author_id == WRITER
    with pytest.raises(Forbidden):
        notes.write(SUSPENDED_OWNER, "home", "more")
    with pytest.raises(NotFound):
        notes.read(STRANGER, ids(notes)[AUTHOR])
    assert notes.empty_folder(WRITER, "home", "of-nobody") == 0
