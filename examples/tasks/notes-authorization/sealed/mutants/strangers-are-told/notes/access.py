"""Who may do what."""

from notes.model import Member, Note, Workspace


class Forbidden(Exception):
    """A member may not do this."""


class NotFound(Exception):
    """There is no such thing; or it is none of the asker's business, which looks the same."""


def member_of(workspace: Workspace | None, user_id: int) -> Member:
    """What a user is in a workspace; NotFound if nothing."""
    if workspace is None:
        raise NotFound
    if user_id not in workspace.members:
        raise Forbidden(f"{user_id} is no member of {workspace.name}")
    return workspace.members[user_id]


def require_writer(member: Member) -> None:
    """Members may write unless they are suspended."""
    if member.suspended:
        raise Forbidden(f"{member.display_name} is suspended")


def require_deleter(member: Member, note: Note) -> None:
    """A note may be deleted by its author and by owners, unless they are suspended."""
    require_writer(member)
    if member.role != "owner" and member.user_id != note.author_id:
        raise Forbidden(f"{member.display_name} did not write note {note.id}")
