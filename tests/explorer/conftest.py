"""A tiny run, its page, and requests to it without a network."""

import asyncio
import base64

import httpx
import numpy as np
import pytest

import tiny_run
from armillary.explorer.app import application


class Client:
    """Requests to a page, one after the other."""

    def __init__(self, app):
        self.app = app

    def get(self, path, **options):
        return self.send("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.send("POST", path, json={} if body is None else body, **options)

    def send(self, method, path, base="http://127.0.0.1:8000", **options):
        async def once():
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=base) as client:
                return await client.request(method, path, **options)

        return asyncio.run(once())


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    return tiny_run.surveyed(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def client(run):
    return Client(application(run))


@pytest.fixture(scope="session")
def client_of():
    """The page of another run, or with another way to its model."""
    return lambda run, load=None: Client(application(run, load))


@pytest.fixture(scope="session")
def hostile():
    return tiny_run.HOSTILE


@pytest.fixture(scope="session")
def numbers():
    """An array of a figure, as plotly.js will read it."""

    def decoded(given):
        if not isinstance(given, dict):
            return np.array([np.nan if value is None else value for value in given], dtype=float)
        kinds = {"f4": "<f4", "f8": "<f8", "i1": "i1", "u1": "u1", "i2": "<i2", "i4": "<i4"}
        flat = np.frombuffer(base64.b64decode(given["bdata"]), kinds[given["dtype"]])
        return flat.reshape([int(size) for size in given["shape"].split(",")]) if "shape" in given else flat

    return decoded
