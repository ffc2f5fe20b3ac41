"""Public keys: Ed25519 and ECDSA on P-256, read from PEM, named by the SHA-256 of their SubjectPublicKeyInfo."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from fairtrial.errors import Unproven


@dataclass(frozen=True)
class PublicKey:
    """A key that signatures are checked with."""

    key: Ed25519PublicKey | EllipticCurvePublicKey

    @classmethod
    def from_pem(cls, pem: str) -> "PublicKey":
        """Read `-----BEGIN PUBLIC KEY-----`; TRUST_INVALID where it is no key, or one of another kind."""
        try:
            key = load_pem_public_key(pem.encode())
        except (ValueError, UnsupportedAlgorithm) as error:
            raise Unproven("TRUST_INVALID", f"Public key: not a PEM public key: {error}.") from error
        return cls.of(key)

    @classmethod
    def of(cls, key: object) -> "PublicKey":
        """Take a key of the `cryptography` package, if it is of a kind that signatures here may have."""
        curve = key.curve if isinstance(key, EllipticCurvePublicKey) else None
        if isinstance(key, Ed25519PublicKey) or (
            isinstance(key, EllipticCurvePublicKey) and isinstance(curve, SECP256R1)
        ):
            return cls(key)
        raise Unproven("TRUST_INVALID", f"Public key: is {type(key).__name__}; Ed25519 and ECDSA P-256 can be used.")

    @property
    def deterministic(self) -> bool:
        """Whether the same content always gets the same signature."""
        return isinstance(self.key, Ed25519PublicKey)

    @cached_property
    def der(self) -> bytes:
        """The SubjectPublicKeyInfo."""
        return self.key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    @property
    def pem(self) -> str:
        """The same as PEM text."""
        return self.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")

    @property
    def raw(self) -> bytes:
        """The 32 bytes of an Ed25519 key."""
        return self.key.public_bytes(Encoding.Raw, PublicFormat.Raw)

    @cached_property
    def key_id(self) -> str:
        """SHA-256 of the SubjectPublicKeyInfo, in hexadecimal digits."""
        return hashlib.sha256(self.der).hexdigest()

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Whether this key made `signature` over `data`; ECDSA is over SHA-256, in ASN.1 DER."""
        try:
            if isinstance(self.key, Ed25519PublicKey):
                self.key.verify(signature, data)
            else:
                self.key.verify(signature, data, ECDSA(SHA256()))
        except InvalidSignature:
            return False
        return True
