"""A pod's plan made fit for folders of this machine: argv, variables and files that name a pod's paths. Pure."""

import dataclasses
import os
import re

from fairtrial_runner.places import Places

from fairtrial import names
from fairtrial.documents import AgentPlan


def localised(plan: AgentPlan, places: Places) -> AgentPlan:
    """The plan with a pod's fixed paths replaced by `places`."""
    moved = {
        names.CANDIDATE_DIR: places.candidate,
        names.PROJECT_DIR: places.project,
        names.TASK_FILE: places.workspace / "TASK.md",
        names.WORKSPACE_DIR: places.workspace,
        names.HOME_DIR: places.home,
    }
    # In one pass, the longest first: what was put in may hold the name of another pod path. Only where a path begins
    # and a name ends: `/opt/workspace` and `/workspaces` are somebody else's.
    known = "|".join(re.escape(path) for path in sorted(moved, key=len, reverse=True))
    found = re.compile(rf"(?<![\w.~}}-])({known})(?![\w-])")

    def here(text: str) -> str:
        return found.sub(lambda match: os.fspath(moved[match.group()]), text)

    def argv(items: list[str]) -> list[str]:
        return [here(item) for item in items]

    return dataclasses.replace(
        plan,
        steps=[dataclasses.replace(one, argv=argv(one.argv), stdin=here(one.stdin)) for one in plan.steps],
        preflight=[dataclasses.replace(one, argv=argv(one.argv)) for one in plan.preflight],
        env={key: here(value) for key, value in plan.env.items()},
        candidate_files={name: here(text) for name, text in plan.candidate_files.items()},
        home_files={name: here(text) for name, text in plan.home_files.items()},
    )
