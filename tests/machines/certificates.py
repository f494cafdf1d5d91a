"""Certificates for tests, made by the command openssl."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from pathlib import Path


class Pair(NamedTuple):
    """Two PEM files."""

    certificate: Path
    key: Path


def certificate(
    folder: Path, name: str, host: str = "127.0.0.1", *, by: Pair | None = None, expired: bool = False
) -> Pair:
    """For a host, signed by itself or by another one. Skips the test where there is no openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by the command openssl")
    found = Pair(folder / f"{name}.pem", folder / f"{name}.key")
    request = folder / f"{name}.csr"
    kind = "IP" if host[0].isdigit() else "DNS"
    extensions = folder / f"{name}.ext"
    extensions.write_text(f"subjectAltName={kind}:{host}\nbasicConstraints=CA:{str(by is None).upper()}\n")
    openssl(
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
        "-keyout", found.key, "-out", request,
    )  # fmt: skip
    signer = ["-signkey", found.key] if by is None else ["-CA", by.certificate, "-CAkey", by.key, "-CAcreateserial"]
    days = "-1" if expired else "1"
    openssl("x509", "-req", "-in", request, *signer, "-days", days, "-extfile", extensions, "-out", found.certificate)
    return found


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)
