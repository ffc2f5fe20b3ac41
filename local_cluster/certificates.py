"""The cluster's keys, certificates and kubeconfigs. Made once per cluster; `down` deletes them with the state."""

import base64
import datetime as dt
import ipaddress
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from local_cluster import layout

LIFETIME = dt.timedelta(days=365)
MASTERS = "system:masters"


@dataclass(frozen=True)
class Identity:
    """Whom a certificate names, and under which addresses its holder serves."""

    name: str
    groups: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    authority: str = "cluster-ca"


LOOPBACK = ("127.0.0.1", "localhost")
IDENTITIES = {
    "etcd": Identity("etcd", hosts=LOOPBACK, authority="etcd-ca"),
    "api-to-etcd": Identity("api-to-etcd", authority="etcd-ca"),
    "api": Identity(
        "kube-apiserver",
        hosts=(
            layout.BRIDGE_ADDRESS,
            layout.API_SERVICE_ADDRESS,
            *LOOPBACK,
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ),
    ),
    "api-to-kubelet": Identity("api-to-kubelet", groups=(MASTERS,)),
    "api-to-aggregated": Identity("api-to-aggregated", authority="front-proxy-ca"),
    "kubelet": Identity(layout.NODE, hosts=(layout.BRIDGE_ADDRESS, layout.NODE)),
    "kubelet-client": Identity(f"system:node:{layout.NODE}", groups=("system:nodes",)),
    "controller-manager": Identity("system:kube-controller-manager"),
    "scheduler": Identity("system:kube-scheduler"),
    "kube-proxy": Identity("system:kube-proxy"),
    "network-policies": Identity("network-policies"),
    "admin": Identity("admin", groups=(MASTERS,)),
}
KUBECONFIGS = ("admin", "kubelet-client", "controller-manager", "scheduler", "kube-proxy")


def ensure() -> Path:
    """The folder of certificates. It appears complete or not at all, so an interrupted `up` leaves no half of it."""
    final = layout.certificates()
    if final.is_dir():
        return final
    building = final.with_suffix(".building")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True, mode=0o700)
    for authority in sorted({identity.authority for identity in IDENTITIES.values()}):
        _make_authority(building, authority)
    for name, identity in IDENTITIES.items():
        _issue(building, name, identity)
    signing = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    _write_key(building / "service-accounts.key", signing)
    (building / "service-accounts.pub").write_bytes(
        signing.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    building.rename(final)
    return final


def write_kubeconfigs() -> None:
    """A self-contained kubeconfig for people and for each component that needs one."""
    for user in KUBECONFIGS:
        path = layout.kubeconfig(user)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(kubeconfig(layout.certificates(), user))


def kubeconfig(folder: Path, user: str) -> str:
    """The text of a kubeconfig with everything in it, so that it can be copied elsewhere on the machine."""
    data = {name: base64.b64encode((folder / name).read_bytes()).decode() for name in (f"{user}.crt", f"{user}.key")}
    authority = base64.b64encode((folder / "cluster-ca.crt").read_bytes()).decode()
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fairtrial",
            "clusters": [
                {
                    "name": "fairtrial",
                    "cluster": {"server": layout.API_URL, "certificate-authority-data": authority},
                }
            ],
            "users": [
                {
                    "name": user,
                    "user": {
                        "client-certificate-data": data[f"{user}.crt"],
                        "client-key-data": data[f"{user}.key"],
                    },
                }
            ],
            "contexts": [{"name": "fairtrial", "context": {"cluster": "fairtrial", "user": user}}],
        }
    )


def _make_authority(folder: Path, name: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(name, ())
    certificate = (
        _builder(subject, subject, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    _write_key(folder / f"{name}.key", key)
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _issue(folder: Path, name: str, identity: Identity) -> None:
    authority = x509.load_pem_x509_certificate((folder / f"{identity.authority}.crt").read_bytes())
    signer = serialization.load_pem_private_key((folder / f"{identity.authority}.key").read_bytes(), password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH] + ([ExtendedKeyUsageOID.SERVER_AUTH] if identity.hosts else [])
    builder = (
        _builder(_subject(identity.name, identity.groups), authority.subject, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    )
    if identity.hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(_alternative_names(identity.hosts)), critical=False)
    certificate = builder.sign(signer, hashes.SHA256())
    _write_key(folder / f"{name}.key", key)
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


def _subject(name: str, groups: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative_names(hosts: Sequence[str]) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    return names


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not authority,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
