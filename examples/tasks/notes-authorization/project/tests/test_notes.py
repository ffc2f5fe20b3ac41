"""Writing, reading and deleting as a member."""

import pytest
from notes.access import Forbidden, NotFound
from notes.model import Member, Workspace
from notes.service import Notes

ANA, BO, STRANGER = 1, 2, 9


@pytest.fixture
def notes():
    return Notes([Workspace("home", {ANA: Member(ANA, "Ana", "owner"), BO: Member(BO, "Bo", suspended=True)})])


def test_a_note_is_written_read_and_deleted(notes):
    note = notes.write(ANA, "home", "milk")
    assert notes.read(BO, note.id).text == "milk"
    notes.delete(ANA, note.id)
    assert notes.list(ANA, "home") == []


def test_the_suspended_may_not_write(notes):
    with pytest.raises(Forbidden):
        notes.write(BO, "home", "milk")


def test_strangers_find_nothing(notes):
    note = notes.write(ANA, "home", "milk")
    for ask in (lambda: notes.read(STRANGER, note.id), lambda: notes.list(STRANGER, "home")):
        with pytest.raises(NotFound):
            ask()
