from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient, WebSocketTestSession

from loci_looped.app.clips import ClipStore
from loci_looped.app.server import FULL, IDLE, create_app
from loci_looped.app.settings import Settings
from loci_looped.app.wire import unpack
from loci_looped.cli.lab import listen
from loci_looped.cli.main import main
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.render.clips import make_clip
from loci_looped.data.store.clip_file import save_clip
from loci_looped.inference.networks import save_network
from loci_looped.model.loci import LociLooped
from loci_looped.utils.errors import LociError

OWN = {"host": "127.0.0.1:8642", "origin": "http://127.0.0.1:8642"}


def lab(network: LociLooped, **settings: Any) -> TestClient:
    return TestClient(create_app(network, Settings(**settings)), base_url="http://127.0.0.1:8642")


def ask(socket: WebSocketTestSession, **request: Any) -> dict[str, Any]:
    socket.send_text(json.dumps(request))
    return unpack(socket.receive_bytes())[0]


def upload(client: TestClient, name: str, content: bytes) -> Any:
    return client.post("/api/clips", params={"name": name}, content=content, headers=OWN)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    write_film(path, make_clip("vanish-control", 7, samples=1, size=(80, 120)).frames[:20], fps=25)
    return path.read_bytes()


def test_the_page_gets_the_facts_it_needs(network: LociLooped) -> None:
    facts = lab(network).get("/api/facts").json()
    assert facts["slots"] == 5 and facts["size"] == [40, 60] and len(facts["slot_colours"]) == 5
    assert "sphere" in facts["shapes"] and "vanish" in facts["violations"] and facts["opening"]["movers"]


def test_examples_are_served_and_bad_names_answered(network: LociLooped) -> None:
    client = lab(network)
    assert client.get("/api/scene", params={"name": "vanish", "seed": 3}).json()["violation"]["kind"] == "vanish"
    for wrong in ({"name": "x"}, {"name": "vanish", "seed": "-1"}, {"name": "vanish", "seed": "9" * 30}, {}):
        answer = client.get("/api/scene", params=wrong)
        assert answer.status_code == 400 and answer.json()["error"].endswith(".")


def test_a_session_answers_bad_messages_and_goes_on(network: LociLooped) -> None:
    client = lab(network)
    scene = client.get("/api/facts").json()["opening"]
    with client.websocket_connect("/api/session", headers=OWN) as socket:
        socket.send_text("this is no json")
        assert unpack(socket.receive_bytes())[0]["type"] == "error"
        socket.send_bytes(b"\x00\x01")
        assert unpack(socket.receive_bytes())[0]["type"] == "error"
        assert ask(socket, type="open", scene={"movers": "none"})["type"] == "error"
        assert ask(socket, type="open", scene=scene)["type"] == "opened"
        assert ask(socket, type="next")["frame"] == 0
        assert ask(socket, type="next")["frame"] == 1


def test_a_fault_of_ours_is_answered_and_the_lab_goes_on(
    network: LociLooped, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loci_looped.app.session import Session

    client = lab(network)
    scene = client.get("/api/facts").json()["opening"]
    with client.websocket_connect("/api/session", headers=OWN) as socket:
        ask(socket, type="open", scene=scene)
        with monkeypatch.context() as broken:
            broken.setattr(Session, "answer", lambda self, request: 1 / 0)
            assert "went wrong" in ask(socket, type="next")["words"]
        assert ask(socket, type="next")["type"] == "frame"


def test_a_tab_too_many_gets_a_sentence_and_places_become_free_again(network: LociLooped) -> None:
    with lab(network, sessions=2) as client:
        first = client.websocket_connect("/api/session", headers=OWN)
        second = client.websocket_connect("/api/session", headers=OWN)
        with first, second:
            assert client.get("/api/facts").json()["open_sessions"] == 2
            with client.websocket_connect("/api/session", headers=OWN) as third:
                assert "2 tabs" in unpack(third.receive_bytes())[0]["words"]
                assert third.receive()["code"] == FULL
        _wait(lambda: client.get("/api/facts").json()["open_sessions"] == 0)
        with client.websocket_connect("/api/session", headers=OWN) as again:
            assert ask(again, type="next")["type"] == "error"


def test_a_silent_tab_loses_its_session(network: LociLooped) -> None:
    client = lab(network, idle_seconds=0.2)
    with client.websocket_connect("/api/session", headers=OWN) as socket:
        assert socket.receive()["code"] == IDLE


def test_a_film_is_taken_in_and_played(network: LociLooped, film: bytes) -> None:
    client = lab(network)
    told = upload(client, "my film.mp4", film).json()
    assert told["name"] == "my film.mp4" and told["frames"] == 7 and np.isclose(told["fps"], 25 / 3)
    with client.websocket_connect("/api/session", headers=OWN) as socket:
        assert ask(socket, type="open", clip=told["clip"])["length"] == 7
        assert ask(socket, type="next")["frame"] == 0
        assert "films cannot" in ask(socket, type="change", scene={})["words"]


def test_a_clip_file_is_opened_with_its_own_background(network: LociLooped, tmp_path: Path) -> None:
    clip = make_clip("vanish-control", 7, samples=1).strided(3, stop=15)
    content = save_clip(clip, tmp_path / "one.clip").read_bytes()
    client = lab(network, clip_frames=4)
    told = upload(client, "one.clip", content).json()
    assert told["frames"] == 4 and np.isclose(told["fps"], 25 / 3) and "first" in told["notes"][0]
    kept = client.app.state.lab.clips.find(told["clip"])        # type: ignore[attr-defined]
    assert (kept.frames == clip.frames[:4]).all() and (kept.background == clip.background).all()
    answer = upload(client, "cut.clip", content[:-9])
    assert answer.status_code == 400 and "The file was cut off: 9 bytes" in answer.json()["error"]


def test_a_long_film_is_cut_and_that_is_said(network: LociLooped, film: bytes) -> None:
    told = upload(lab(network, clip_frames=4), "film.mp4", film).json()
    assert told["frames"] == 4 and "first" in told["notes"][0]


@pytest.mark.parametrize(("name", "content", "words"), [
    ("notes.mp4", b"this is a text file, renamed", "not a film"),
    ("notes.txt", b"text", "not named like a film"),
    ("", b"text", "not named like a film"),
    ("../../etc/passwd", b"text", "not named like a film"),
    ("empty.mp4", b"", "empty"),
    ("picture.mp4", b"\x89PNG\r\n\x1a\n" + bytes(100), "not a film"),
    ("playlist.mp4", b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n", "not a film"),
    ("zeros.mp4", b"\x00\x00\x00\x18ftypmp42" + bytes(1000), "not a film"),
    ("script.mp4", b"#!/bin/sh\ntouch /tmp/never\n", "not a film"),
])
def test_what_is_no_film_is_refused_and_the_server_goes_on(
    network: LociLooped, name: str, content: bytes, words: str
) -> None:
    client = lab(network)
    answer = upload(client, name, content)
    assert answer.status_code == 400 and words in answer.json()["error"], answer.text
    assert "loci-lab-" not in answer.text                # no name of ours is told
    assert client.get("/api/facts").status_code == 200


def test_a_film_whose_end_is_missing_is_refused(network: LociLooped, film: bytes) -> None:
    for share in (0.3, 0.9):
        answer = upload(lab(network), "cut.mp4", film[: int(len(film) * share)])
        assert answer.status_code == 400 and "cut off or damaged" in answer.json()["error"]


def test_a_film_that_is_too_large_is_refused_before_it_is_stored(network: LociLooped, film: bytes) -> None:
    client = lab(network, upload_bytes=1000)
    assert "larger than" in upload(client, "film.mp4", film).json()["error"]

    def chunks() -> Any:            # without saying how long it is
        for _ in range(10):
            yield film

    answer = client.post("/api/clips", params={"name": "film.mp4"}, content=chunks(), headers=OWN)
    assert "larger than" in answer.json()["error"]


def test_decoding_that_takes_too_long_is_ended(network: LociLooped, film: bytes) -> None:
    begin = time.monotonic()
    answer = upload(lab(network, decode_seconds=0.05), "film.mp4", film)
    assert "took longer" in answer.json()["error"] and time.monotonic() - begin < 10


def test_nothing_of_a_film_stays_on_the_disk(
    network: LociLooped, film: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    upload(lab(network), "film.mp4", film)
    upload(lab(network), "bad.mp4", b"bad")
    assert os.listdir(tmp_path) == []


def test_only_a_few_films_are_kept(network: LociLooped, film: bytes) -> None:
    client = lab(network, clips=2)
    keys = [upload(client, "film.mp4", film).json()["clip"] for _ in range(3)]
    store: ClipStore = client.app.state.lab.clips       # type: ignore[attr-defined]
    assert list(store.clips) == keys[1:]
    with pytest.raises(LociError, match="upload it again"):
        store.find(keys[0])


def test_a_port_in_use_is_told_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    taken = listen("127.0.0.1", 0)
    port = taken.getsockname()[1]
    try:
        assert main(["lab", "--port", str(port)]) == 2
        words = capsys.readouterr().err
        assert f"Port {port}" in words and f"--port {port + 1}" in words
    finally:
        taken.close()
    for arguments in (["--port", "70000"], ["--host", "no such host"], ["--sessions", "0"]):
        assert main(["lab", *arguments]) == 2


def test_the_lab_without_weights_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--port", "0", "--network", "nothing-of-the-sort"]) == 2
    assert "no network called" in capsys.readouterr().err


def test_sessions_do_not_disturb_each_other(network: LociLooped) -> None:
    with lab(network) as client:
        scene = client.get("/api/facts").json()["opening"]
        told: dict[int, list[list[float]]] = {}

        def play(number: int) -> None:
            with client.websocket_connect("/api/session", headers=OWN) as socket:
                ask(socket, type="open", scene=scene)
                told[number] = [ask(socket, type="next")["slots"][0]["position"] for _ in range(5)]

        threads = [threading.Thread(target=play, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(told) == 4 and all(positions == told[0] for positions in told.values())


def _wait(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_command_serves_and_ends_when_it_is_asked_to(network: LociLooped, tmp_path: Path) -> None:
    save_network(tmp_path, network)
    command = [sys.executable, "-m", "loci_looped.cli.main", "lab", "--port", "0", "--network", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        try:
            address = server.stdout.readline().split("open at ")[1].split()[0]
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(address) as answer:
                assert b"Loci lab" in answer.read()
            server.send_signal(signal.SIGINT)
            assert server.wait(20) in (0, 130, -signal.SIGINT)
            assert "Traceback" not in server.stderr.read()
        finally:
            server.kill()
