from __future__ import annotations

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from loci_looped.app.guard import host_name, same_origin
from loci_looped.app.server import create_app
from loci_looped.app.settings import Settings
from loci_looped.model.loci import LociLooped

OWN = {"host": "127.0.0.1:8642", "origin": "http://127.0.0.1:8642"}


@pytest.fixture
def client(network: LociLooped) -> TestClient:
    return TestClient(create_app(network, Settings()), base_url="http://127.0.0.1:8642")


def test_names_and_origins_are_read_rightly() -> None:
    assert host_name("localhost:8642") == "localhost" and host_name("LocalHost") == "localhost"
    assert host_name("[::1]:8642") == "[::1]" and host_name("[::1]") == "[::1]"
    assert same_origin("http://localhost:1", "localhost:1")
    assert not same_origin("http://localhost:1", "localhost:2")
    assert not same_origin("null", "localhost:1") and not same_origin("file://", "localhost:1")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", ""])
def test_a_foreign_name_is_turned_away(client: TestClient, host: str) -> None:
    for path in ("/", "/api/facts", "/static/main.js"):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 403 and "loci lab" in answer.json()["error"]


@pytest.mark.parametrize("host", ["127.0.0.1:8642", "localhost:8642", "[::1]:8642"])
def test_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


def test_a_foreign_page_can_neither_read_nor_send(client: TestClient) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1"):
        assert client.get("/api/facts", headers={"origin": origin}).status_code == 403
        assert client.post("/api/clips?name=a.mp4", content=b"x", headers={"origin": origin}).status_code == 403


def test_who_sends_without_an_origin_is_turned_away(client: TestClient) -> None:
    assert client.post("/api/clips?name=a.mp4", content=b"x").status_code == 403


def test_a_foreign_page_gets_no_session(client: TestClient) -> None:
    for headers in ({"origin": "http://evil.example"}, {"host": "evil.example", "origin": "http://evil.example"}, {}):
        with pytest.raises(WebSocketDisconnect) as refused, client.websocket_connect("/api/session", headers=headers):
            pass
        assert refused.value.code == 1008
    with client.websocket_connect("/api/session", headers=OWN):
        pass


def test_pages_may_load_nothing_from_elsewhere(client: TestClient) -> None:
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe-eval" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "http://" not in answer.text.replace("http://www.w3.org", "") and "https://" not in answer.text


def test_nothing_outside_the_static_folder_is_served(client: TestClient) -> None:
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/etc/passwd"):
        assert client.get(path).status_code == 404


def test_a_lab_for_others_answers_to_the_names_it_was_given(network: LociLooped) -> None:
    settings = Settings(host="0.0.0.0", extra_hosts=("My-Machine.local",))
    client = TestClient(create_app(network, settings), base_url="http://my-machine.local:8642")
    assert client.get("/").status_code == 200
    assert client.get("/", headers={"host": "0.0.0.0:8642"}).status_code == 403
