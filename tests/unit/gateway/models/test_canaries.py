"""Canaries come from named Secrets, and whatever is wrong with one is told before anything is recorded without it."""

import base64

import pytest
from fairtrial_gateway.kubernetes import ApiForbidden
from fairtrial_gateway.models.canaries import CANARIES_MAX, Canaries, CanariesUnreadable, named_of
from fairtrial_gateway.models.parties import Owner

from fairtrial.documents import RunIdentity
from fairtrial.errors import InvalidInput

RUN = RunIdentity("team", "r", "u")


def secret(**values: bytes) -> dict[str, object]:
    return {"data": {key: base64.b64encode(value).decode() for key, value in values.items()}}


class Api:
    def __init__(self, secrets: dict[str, dict[str, object]]) -> None:
        self.secrets, self.asked = secrets, 0

    async def secret(self, namespace: str, name: str) -> dict[str, object] | None:
        self.asked += 1
        if name == "forbidden":
            raise ApiForbidden("no")
        return self.secrets.get(f"{namespace}/{name}")


async def test_each_key_of_the_namespaces_secrets_is_a_canary():
    api = Api({"team/a": secret(one=b"canary-one\n", two=b"canary-two"), "team/b": secret(one=b"canary-b-1")})
    named = named_of('[{"namespace":"team","name":"a"},{"namespace":"team","name":"b"},{"namespace":"x","name":"c"}]')
    canaries = Canaries(api, named, 60)

    found = await canaries.get("team")

    assert found == {"canary:a/one": b"canary-one", "canary:a/two": b"canary-two", "canary:b/one": b"canary-b-1"}
    await canaries.get("team")
    assert api.asked == 2
    assert await canaries.get("other") == {}


@pytest.mark.parametrize(
    ("name", "says"), [("short", "8 bytes"), ("gone", "not there"), ("forbidden", "may not"), ("many", "64 are")]
)
async def test_what_cannot_be_looked_for_is_refused(name, says):
    many = {f"k{number}": b"canary-%d" % (1000 + number) for number in range(CANARIES_MAX + 1)}
    api = Api({"team/short": secret(one=b"1234567"), "team/many": secret(**many)})

    with pytest.raises(CanariesUnreadable, match=says):
        await Canaries(api, {"team": (name,)}, 60).get("team")


@pytest.mark.parametrize("text", ["{", "{}x", '["a"]', '[{"name": "a"}]', "3"])
def test_a_list_that_is_none_is_refused(text):
    with pytest.raises(InvalidInput, match="CANARY_SECRETS"):
        named_of(text)


def test_canaries_are_looked_for_beside_the_credential_and_never_shown():
    owner = Owner(RUN, canaries={"canary:a/one": b"canary-one"})

    assert owner.looked_for({"provider-credential": b"secret"}) == {
        "provider-credential": b"secret",
        "canary:a/one": b"canary-one",
    }
    assert owner.looked_for({}) == {"canary:a/one": b"canary-one"}
    assert owner.looked_for(None) is None
    assert Owner(RUN, canaries=None).looked_for({}) is None
    assert "canary-one" not in repr(owner)
