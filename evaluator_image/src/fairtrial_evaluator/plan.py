"""From a check to the processes it needs. Pure: what to run, on which tree, with which files; nothing is run here."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairtrial.task.packed import Check, Evaluation, Overlay
from fairtrial_evaluator.protocol import Invocation, TreeName
from fairtrial_evaluator.sentinel import NODE_SUFFIXES, Sentinel, node_sentinel, pytest_sentinel

MAX_TEST_FILES = 50


@dataclass(frozen=True)
class Planned:
    """One process with the files that are laid over its copy, in order, and the sentinel among them."""

    invocation: Invocation
    overlays: list[str] = field(default_factory=list)  # sealed folders, laid over the project
    inject: dict[str, str] = field(default_factory=dict)  # sealed path → project path
    sentinel: Sentinel | None = None
    nonce: str = ""

    def files(self, sealed: Mapping[str, bytes]) -> dict[str, bytes]:
        """Project path → content of all that is laid over the copy."""
        files: dict[str, bytes] = {}
        for overlay in self.overlays:
            files |= below(sealed, overlay)
        for source, target in self.inject.items():
            if source in sealed:
                files[target] = sealed[source]
            files |= {posixpath.join(target, path): data for path, data in below(sealed, source).items()}
        if self.sentinel:
            folder = self.invocation.cwd
            files[posixpath.normpath(posixpath.join(folder, self.sentinel.file))] = self.sentinel.content
        return files


def below(sealed: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    """The files below a sealed folder, by their path in it."""
    prefix = f"{folder.rstrip('/')}/"
    return {path.removeprefix(prefix): data for path, data in sealed.items() if path.startswith(prefix)}


@dataclass(frozen=True)
class Planner:
    """Makes the processes of one evaluation. `token` is random and secret until a process has it."""

    evaluation: Evaluation
    launcher: Sequence[str]
    token: str

    def probe(self) -> Planned | None:
        """The launcher's probe, on the fixture."""
        probe = self.evaluation.launcher_probe
        if probe is None:
            return None
        argv = self._argv(probe.argv, ".", [], None)
        env = dict(self.evaluation.env)
        return Planned(Invocation("launcher-probe", "base", argv, probe.timeout_seconds, env=env))

    def single(self, check: Check, tree: TreeName) -> Planned:
        """The one process of a command, junit or tap check."""
        return self._planned(check, tree, label=tree)

    def mutant_runs(self, check: Check, tree: TreeName, tests: Sequence[str]) -> list[Planned]:
        """Submitted tests on correct code, each file alone, on each equivalent and on each mutant, in this order."""
        base = [check.reference] if check.reference else []
        runs = [self._planned(check, tree, label=f"{tree}-reference", overlays=base, tests=tests)]
        if check.independent and len(tests) > 1:
            for index, test in enumerate(tests):
                runs.append(self._planned(check, tree, label=f"{tree}-alone-{index}", overlays=base, tests=[test]))
        laid_over = [(f"equivalent-{each.name}", each.overlay) for each in check.equivalents]
        laid_over += [(f"mutant-{each.name}", each.overlay) for each in check.mutants]
        return runs + [self._over(check, tree, label, [*base, folder], tests) for label, folder in laid_over]

    def compile_runs(self, check: Check, tree: TreeName) -> list[Planned]:
        """The control, then each source that must be refused."""
        assert check.control is not None
        pairs: list[tuple[str, Overlay]] = [("control", check.control), *(("source", each) for each in check.sources)]
        return [self._over(check, tree, f"{kind}-{each.name}", [each.overlay], []) for kind, each in pairs]

    def measured_runs(self, check: Check, tree: TreeName) -> list[Planned]:
        """The warm-up, then a process for every sample."""
        labels = [f"{tree}-warm-up-{number}" for number in range(check.warm_up)]
        labels += [f"{tree}-sample-{number}" for number in range(check.samples)]
        return [self._planned(check, tree, label=label) for label in labels]

    def health(self, check: Check) -> Planned:
        """The same runner on the fixture, without submitted tests: does it write readable results at all?"""
        return self._planned(check, "base", label="base-health")

    def _over(self, check: Check, tree: TreeName, label: str, overlays: list[str], tests: Sequence[str]) -> Planned:
        return self._planned(check, tree, label=f"{tree}-{label}", overlays=overlays, tests=tests)

    def _planned(
        self,
        check: Check,
        tree: TreeName,
        *,
        label: str,
        overlays: Sequence[str] = (),
        tests: Sequence[str] = (),
    ) -> Planned:
        secret = f"{self.token} {check.name} {label}"
        sentinel = self._sentinel(check, secret, tests)
        nonce = f"{self.token}-{check.name}-{label}" if _wants_nonce(check) else ""
        invocation = Invocation(
            label=label,
            tree=tree,
            argv=self._argv(self._without_imported(check, sentinel), check.cwd, tests, sentinel),
            timeout_seconds=check.timeout_seconds,
            cwd=check.cwd,
            env={**self.evaluation.env, **check.env},
            stdin=f"{nonce}\n" if nonce else "",
            remove=list(check.remove),
        )
        return Planned(invocation, list(overlays), dict(check.inject), sentinel, nonce)

    def _sentinel(self, check: Check, secret: str, tests: Sequence[str]) -> Sentinel | None:
        if check.sentinel == "pytest":
            return pytest_sentinel(secret)
        if check.sentinel == "node":
            named = [item for item in check.argv if _is_node_test(item)]
            return node_sentinel(secret, [*named, *(_relative(test, check.cwd) for test in tests)])
        return None

    def _without_imported(self, check: Check, sentinel: Sentinel | None) -> list[str]:
        """Node runs every file in a process of its own, so test files are imported by the sentinel's file instead."""
        if sentinel is None or check.sentinel != "node":
            return check.argv
        return [item for item in check.argv if not _is_node_test(item) and item != "{tests}"]

    def _argv(self, template: list[str], cwd: str, tests: Sequence[str], sentinel: Sentinel | None) -> list[str]:
        argv: list[str] = []
        for item in template:
            if item == "{launcher}":
                argv += self.launcher
            elif item == "{tests}":
                argv += [_relative(test, cwd) for test in tests]
            elif item == "{sentinel}":
                argv += [sentinel.file] if sentinel else []
            else:
                argv.append(item)
        return argv


def _wants_nonce(check: Check) -> bool:
    return check.kind == "command" and any("{results}" in item for item in check.argv)


def _is_node_test(item: str) -> bool:
    return item.endswith(NODE_SUFFIXES) and not item.startswith("-")


def _relative(path: str, cwd: str) -> str:
    relative = posixpath.relpath(path, cwd)
    return f"./{relative}" if relative.startswith("-") else relative
