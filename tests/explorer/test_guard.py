"""What stands before the explorer's answers: lengths, numbers of requests, time, and whose requests are heard."""

import asyncio

import pytest

from armillary.explorer import guard
from armillary.explorer.guard import ADDRESS, HEAD, Guarded, in_time


@pytest.mark.parametrize("path", [f"/api/{'x' * ADDRESS}", f"/api/run?q={'x' * ADDRESS}"])
def test_too_long_an_address_is_refused(client, path):
    found = client.get(path)
    assert found.status_code == 414
    assert found.json()["error"].startswith(f"expected an address of at most {ADDRESS} letters")


def test_too_long_headers_are_refused(client):
    assert client.get("/api/run", headers={"cookie": "x" * HEAD}).status_code == 431


def test_a_page_of_another_site_may_link_here_and_no_more(client):
    elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=elsewhere).status_code == 200
    assert client.get("/api/run", headers=elsewhere).status_code == 403
    assert client.get("/", headers=elsewhere | {"sec-fetch-mode": "no-cors"}).status_code == 403
    assert client.get("/api/run", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_deep_json_is_a_question_that_cannot_be_read(client):
    headers = {"content-type": "application/json"}
    found = client.send("POST", "/api/ask/look", content=b"[" * 200_000, headers=headers)
    assert found.status_code == 400
    assert found.json()["error"].startswith("expected a JSON object, got something else")


async def nothing():
    return {"type": "http.request", "body": b"", "more_body": False}


def scope_of(path):
    return {"type": "http", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": []}


@pytest.mark.parametrize(("path", "most"), [("/api/run", guard.AT_ONCE), ("/api/ask/look", guard.QUESTIONS)])
def test_more_at_a_time_than_are_answered_are_told_to_wait(path, most):
    statuses = []

    async def crowd():
        begun = asyncio.Event()

        async def slow(scope, receive, send):
            await begun.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message):
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        app = Guarded(slow)
        asked = [asyncio.create_task(app(scope_of(path), nothing, send)) for _ in range(most + 3)]
        await asyncio.sleep(0)
        begun.set()
        await asyncio.gather(*asked)
        await app(scope_of(path), nothing, send)

    asyncio.run(crowd())
    assert sorted(statuses) == [200] * (most + 1) + [503] * 3


def test_a_body_that_does_not_come_ends_the_request(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 0.01)

    async def never():
        await asyncio.sleep(10)

    assert asyncio.run(in_time(never)()) == {"type": "http.disconnect"}
