"""Who may delete."""

import pytest
from notes.access import Forbidden
from notes.model import Member, Workspace
from notes.service import Notes


def test_a_writer_deletes_their_own_and_nothing_else():
    notes = Notes([Workspace("home", {1: Member(1, "Ana"), 2: Member(2, "Bo")})])
    theirs, own = notes.write(1, "home", "milk"), notes.write(2, "home", "eggs")
    notes.delete(2, own.id)
    for attempt in (
        lambda: notes.delete(2, theirs.id),
        lambda: notes.delete_many(2, [theirs.id]),
        lambda: notes.empty_folder(2, "home", ""),
    ):
        with pytest.raises(Forbidden):
            attempt()
    assert notes.list(1, "home") == [theirs]
