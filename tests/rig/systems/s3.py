"""
An S3 server on this machine: moto's, as a process of its own, which is what there is without a container.

Used by the tests of the object store sink. It keeps everything in memory: who ends it loses all buckets, so `end` suspends it
instead.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import boto3
import botocore.config

from kconnect.local.broker import free_port
from tests.support import wait_until

ACCESS_KEY, SECRET_KEY, REGION = "trial-key", "canary-s3-secret-81f2", "eu-central-1"


class S3Server:
    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        patient = botocore.config.Config(retries={"max_attempts": 0}, connect_timeout=5, read_timeout=60)
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            region_name=REGION,
            config=patient,
        )

    def start(self) -> S3Server:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        wait_until(self._answers, 120, "moto's server did not start")
        return self

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, "moto's server has ended"
        try:
            self.client.list_buckets()
        except Exception:  # noqa: BLE001 - it is not up yet
            return False
        return True

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def end(self) -> None:
        """It answers nobody."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def begin(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def bucket(self, name: str) -> str:
        self.client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
        return name

    def files(self, bucket: str, prefix: str = "") -> dict[str, bytes]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        names = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return {name: self.client.get_object(Bucket=bucket, Key=name)["Body"].read() for name in names}
