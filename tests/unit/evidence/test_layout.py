"""Keys that every store keeps as they are, and the refusal of all others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import KEY_MAX, Layout, check_artifact_name, check_key, key_of_uri, uri

DIGEST = "a" * 64
UID = "0" * 8 + "-1111-2222-3333-" + "4" * 12


def test_a_run_of_no_cohort_and_a_run_of_a_cohort_have_their_keys_apart():
    layout = Layout("evidence")

    alone, member = layout.run("team", "r1", UID), layout.run("team", "r1", UID, cohort="c1")

    assert alone.record() == f"evidence/ns/team/runs/r1/{UID}/record.json"
    assert alone.artifact("agent/report.json") == f"evidence/ns/team/runs/r1/{UID}/artifacts/agent/report.json"
    assert member.record() == f"evidence/ns/team/cohorts/c1/runs/r1/{UID}/record.json"


def test_archives_lie_by_digest_and_an_empty_prefix_is_the_bucket_itself():
    assert Layout().public_archive(DIGEST) == f"tasks/sha256/{DIGEST}"
    assert Layout("a/b/").sealed_archive(DIGEST) == f"a/b/sealed/sha256/{DIGEST}"


@pytest.mark.parametrize("prefix", ["", "evidence"])
def test_every_key_lies_in_one_of_the_folders(prefix: str):
    layout = Layout(prefix)
    keys = [layout.public_archive(DIGEST), layout.sealed_archive(DIGEST), layout.probe("t", "put.bin")]
    keys += [layout.refusals("fairtrial-gateway-0", 1_800_000_000_000)]
    keys += [layout.run("team", "r1", UID).record(), layout.run("team", "r1", UID, cohort="c1").record()]

    assert all(key.startswith(layout.folders) for key in keys)
    assert all(folder.startswith(layout.prefix) for folder in layout.folders)


@pytest.mark.parametrize("digest", ["", "A" * 64, "a" * 63, "a" * 65, "../" + "a" * 61, "a" * 64 + "\n"])
def test_anything_but_a_digest_is_refused_where_a_digest_is_a_key(digest: str):
    with pytest.raises(InvalidInput, match="64 lower-case"):
        Layout().public_archive(digest)


@pytest.mark.parametrize("prefix", ["/", "a//b", "A", "../x", "a" * 70, "a b"])
def test_a_prefix_that_some_store_would_change_is_refused(prefix: str):
    with pytest.raises(InvalidInput, match="S3 prefix"):
        Layout(prefix)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "must begin"),
        ("agent/", "must begin"),
        ("agent//a.txt", "must begin"),
        ("/agent/a.txt", "must begin"),
        ("agent/../record.json", "must begin"),
        ("agent/.hidden", "must begin"),
        ("agent/A.txt", "must begin"),
        ("agent/ä.txt", "must begin"),
        ("agent/a+b.txt", "must begin"),
        ("agent/a.txt\n", "must begin"),
        ("a/b/c/d/e/f/g.txt", "7 segments"),
        ("agent/" + "a" * 195 + ".x", "203 characters"),
        ("agent/" + "a" * 130 + ".x", "longer than 128"),
        ("agent/report", "must end in an extension"),
        ("agent/a.txt/b.txt", "may hold no dot"),
        ("agent/000001/b.txt", "be no number"),
    ],
)
def test_an_artifact_name_is_refused_with_its_reason(name: str, why: str):
    with pytest.raises(InvalidInput, match=why):
        check_artifact_name(name)


@pytest.mark.parametrize("name", ["agent/report.json", "agent/streams/stdout/000001", "evaluation/a/b/c/d/e.xml"])
def test_good_names(name: str):
    assert check_artifact_name(name) == name


names = st.lists(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,6}", fullmatch=True), min_size=1, max_size=4).map("/".join)


@given(names, names)
def test_no_good_name_is_the_folder_of_another(one: str, other: str):
    try:
        check_artifact_name(one)
        check_artifact_name(f"{one}/{other}")
    except InvalidInput:
        return
    raise AssertionError(f"{one} is a file and a folder")


def test_the_longest_key_fits():
    run = Layout("p" * 63).run("n" * 63, "r" * 52, UID, cohort="c" * 63)
    name = "/".join(["a" * 98, "b" * 99 + ".x"])

    assert len(run.artifact(name)) <= KEY_MAX


def test_a_key_that_is_too_long_is_refused():
    with pytest.raises(InvalidInput, match="512 are allowed"):
        check_key("/".join(["a" * 100] * 6))


def test_a_uri_gives_back_its_key():
    assert key_of_uri(uri("bucket", "a/b.json")) == "a/b.json"
    assert key_of_uri("s3://bucket/a/b/") == "a/b/"


@pytest.mark.parametrize("text", ["", "s3://", "s3://bucket", "s3://bucket/", "http://bucket/a", "s3://bucket/../a"])
def test_what_names_no_object_is_refused(text: str):
    with pytest.raises(InvalidInput):
        key_of_uri(text)


def test_model_calls_lie_beside_the_artifacts_of_their_run():
    run = Layout("p/").run("ns", "r", "uid")

    assert run.exchange("1700000000000-0badcafe", "exchange.json").startswith(run.exchanges())
    assert run.exchanges() == "p/ns/ns/runs/r/uid/model/"
