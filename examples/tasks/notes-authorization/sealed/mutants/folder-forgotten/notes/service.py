"""All that can be done with notes."""

from collections.abc import Iterable
from itertools import count

from notes.access import NotFound, member_of, require_deleter, require_writer
from notes.model import Note, Workspace


class Notes:
    """The notes of all workspaces. Every method takes the ID of the user who asks."""

    def __init__(self, workspaces: Iterable[Workspace]) -> None:
        self._workspaces = {workspace.name: workspace for workspace in workspaces}
        self._notes: dict[int, Note] = {}
        self._ids = count(1)

    def write(self, user_id: int, workspace: str, text: str, folder: str = "") -> Note:
        """Add a note."""
        require_writer(member_of(self._workspaces.get(workspace), user_id))
        note = Note(next(self._ids), workspace, user_id, text, folder)
        self._notes[note.id] = note
        return note

    def read(self, user_id: int, note_id: int) -> Note:
        """One note."""
        note = self._note(note_id)
        member_of(self._workspaces.get(note.workspace), user_id)
        return note

    def list(self, user_id: int, workspace: str) -> list[Note]:
        """All notes of a workspace, in the order in which they were written."""
        member_of(self._workspaces.get(workspace), user_id)
        return [note for note in self._notes.values() if note.workspace == workspace]

    def delete(self, user_id: int, note_id: int) -> None:
        """Delete one note."""
        self.delete_many(user_id, [note_id])

    def delete_many(self, user_id: int, note_ids: Iterable[int]) -> None:
        """Delete several notes: all of them, or none."""
        notes = [self._note(note_id) for note_id in set(note_ids)]
        members = [member_of(self._workspaces.get(note.workspace), user_id) for note in notes]
        for member, note in zip(members, notes, strict=True):
            require_deleter(member, note)
        for note in notes:
            del self._notes[note.id]

    def empty_folder(self, user_id: int, workspace: str, folder: str) -> int:
        """Delete all notes of a folder; how many there were."""
        found = [note.id for note in self.list(user_id, workspace) if note.folder == folder]
        for note_id in found:
            del self._notes[note_id]
        return len(found)

    def _note(self, note_id: int) -> Note:
        if note_id not in self._notes:
            raise NotFound
        return self._notes[note_id]
