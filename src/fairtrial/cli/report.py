"""`fairtrial report`: what the analysis of a cohort says, on a terminal: the verdict, what decided, and how many runs.

It shows what a package says of itself. Whether that is so, `fairtrial verify` tells.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fairtrial.cli.analysed import of_cohort as package_of
from fairtrial.cli.output import console, plain
from fairtrial.cli.records import NotAsRecorded
from fairtrial.errors import InvalidInput
from fairtrial.evidence import layout
from fairtrial.evidence.package_paths import PAYLOAD, REPORT, own_key
from fairtrial.evidence.store import S3Store

PAGE = "analysis/report.html"
SIZE_MAX = 256 * 1024 * 1024
STATES = {"pass": "green", "fail": "red", "unknown": "yellow"}
VERDICTS = {"SUPPORTED": "bold green", "NOT SUPPORTED": "bold red", "INCONCLUSIVE": "bold yellow"}
WORDS = {"below": "below", "atMost": "at most", "above": "above", "atLeast": "at least"}
FLOW = ("scheduled", "replacements", "passed", "failed", "invalid", "void", "cancelled", "notRun")
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """A report, and where the page for people is."""

    data: bytes
    name: str
    page: str
    verify: str


def report(what: str, namespace: str, context: str | None) -> None:
    """Print the report of a cohort by its name, or of a package by its folder."""
    folder = Path(what)
    found = of_folder(folder) if folder.is_dir() else of_cohort(what, namespace, context)
    show(console(), read(found), found)


def of_folder(folder: Path) -> Found:
    """The report in a package that was fetched."""
    file = folder / PAYLOAD / REPORT
    if not file.is_file():
        raise InvalidInput(f"{folder}: has no {PAYLOAD}{REPORT}.", next_move="Fetch the package: fairtrial fetch.")
    if file.stat().st_size > SIZE_MAX:
        raise InvalidInput(f"{file}: is larger than {SIZE_MAX} bytes.")
    page, verify = str(folder / PAYLOAD / PAGE), f"fairtrial verify {folder} --trust TRUST.json"
    return Found(file.read_bytes(), str(file), page, verify)


def of_cohort(name: str, namespace: str, context: str | None) -> Found:
    """The report in the package that the cohort's status names, checked against the digest there."""
    store = S3Store.from_env()
    bucket = store.settings.bucket
    analysed = package_of(name, namespace, context, bucket)
    base = analysed.address.base
    key = own_key(base, f"{PAYLOAD}{REPORT}")
    data = store.get(key, limit=SIZE_MAX)
    if (actual := layout.sha256(data)) != analysed.report_sha256:
        raise NotAsRecorded(key, analysed.report_sha256, actual)
    page = layout.uri(bucket, own_key(base, f"{PAYLOAD}{PAGE}"))
    return Found(data, key, page, f"fairtrial fetch {name} -n {namespace}, then fairtrial verify")


def read(found: Found) -> Json:
    """The report's JSON."""
    try:
        raw = json.loads(found.data)
        if raw["kind"] != "Report":
            raise InvalidInput(f"{found.name}: is a {raw['kind']!r}, not a report.")
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise InvalidInput(f"{found.name}: is no report: {type(error).__name__}: {error}.") from error
    return dict(raw)


# --- on the terminal --------------------------------------------------------------------------------------------------
def show(to: Console, made: Json, found: Found) -> None:
    """Print it; what is not there, or of another kind, is the report's fault and told as such."""
    try:
        parts = [verdict_table(made), flow_table(made)]
        head, notices = _head(made), _notices(made)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{found.name}: is no whole report: {type(error).__name__}: {error}.") from error
    for text, style in head:
        to.print(plain(text), style=style, soft_wrap=True)
    for part in parts:
        to.print()
        to.print(part)
    to.print()
    for text in notices:
        to.print(plain(text), soft_wrap=True)
    to.print(plain(f"Report:  {found.page}"), soft_wrap=True)
    to.print(plain(f"Check:   {found.verify}"), soft_wrap=True)


def _head(made: Json) -> list[tuple[str, str]]:
    cohort, executive = made["cohort"], made["executive"]
    verdict = executive.get("verdict")
    lines = [(f"{cohort['namespace']}/{cohort['name']} ({cohort['stage']}): {cohort['question']}", "")]
    lines.append((verdict or "No verdict: the cohort has no decision rule.", VERDICTS.get(str(verdict), "bold")))
    return lines + [(f"  {one}", "") for one in executive["says"]]


def _notices(made: Json) -> list[str]:
    executive = made["executive"]
    told = [f"! {one['says']}" for one in executive["warnings"]]
    if made["integrity"]:
        told.append(f"! {len(made['integrity'])} errors in the evidence itself; the report lists them.")
    return [*told, ""] if told else []


def verdict_table(made: Json) -> Table:
    """Gates, conditions and budgets: what was seen, against what, and whether it holds. What decided has a star."""
    table = _table("GATE OR CONDITION", "STATE", "OBSERVED", "95 % INTERVAL", "THRESHOLD", "")
    for row in made["verdictTable"]:
        cells = (_exact(row.get("observed")), _interval(row.get("interval")), _threshold(row))
        name = f"{'* ' if row['decided'] else '  '}{row['name']}"
        texts = [name, row["state"], *cells, row.get("reason") or ""]
        table.add_row(*(plain(str(one)) for one in texts), style=STATES.get(row["state"], ""))
    return table


def flow_table(made: Json) -> Table:
    """Every scheduled run and every replacement, by candidate: what all rates are of."""
    table = _table("RUNS", *(name.upper().replace("NOTRUN", "NOT RUN") for name in FLOW))
    for row in made["flow"]:
        table.add_row(plain(str(row.get("arm") or "all")), *(plain(str(row[name])) for name in FLOW))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _threshold(row: Json) -> str:
    if not row.get("comparison"):
        return ""
    bound = row.get("bound") or "point"
    what = "" if bound == "point" else f"{bound.removesuffix('95')} end "
    return f"{what}{WORDS.get(row['comparison'], row['comparison'])} {_exact(row.get('threshold'))}"


def _exact(found: Json | None) -> str:
    """A value for people; the exact one is in the report."""
    return "—" if found is None else _number(found.get("value", found.get("exact")))


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _interval(found: Json | None) -> str:
    if not found:
        return ""
    ends: Sequence[Any] = (found.get("low"), found.get("high"))
    return " to ".join(_number(end) for end in ends)
