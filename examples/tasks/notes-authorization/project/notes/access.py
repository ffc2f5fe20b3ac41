"""Who may do what."""

from notes.model import Member, Workspace


class Forbidden(Exception):
    """A member may not do this."""


class NotFound(Exception):
    """There is no such thing; or it is none of the asker's business, which looks the same."""


def member_of(workspace: Workspace | None, user_id: int) -> Member:
    """What a user is in a workspace; NotFound if nothing."""
    if workspace is None or user_id not in workspace.members:
        raise NotFound
    return workspace.members[user_id]


def require_writer(member: Member) -> None:
    """Members may write unless they are suspended."""
    if member.suspended:
        raise Forbidden(f"{member.display_name} is suspended")
