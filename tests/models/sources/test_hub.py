"""Hub ids, against a hub of one model that runs in this process; the client runs in its own, with an empty cache."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
from safetensors.torch import load_file

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "someone/small"


class Hub(BaseHTTPRequestHandler):
    folder = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        path = self.path.split("?")[0]
        files = sorted(file.name for file in self.folder.iterdir())
        known = [f"/{REPO}/resolve/{revision}/" for revision in ("main", COMMIT)]
        if path in {f"/api/models/{REPO}/revision/{name}" for name in ("main", COMMIT)} | {f"/api/models/{REPO}"}:
            listed = {"id": REPO, "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
            self.send(200, json.dumps(listed).encode(), body)
        elif path == f"/api/models/{REPO}/tree/{COMMIT}":
            sizes = {name: (self.folder / name).stat().st_size for name in files}
            tree = [{"type": "file", "path": name, "size": size, "oid": "0" * 40} for name, size in sizes.items()]
            self.send(200, json.dumps(tree).encode(), body)
        elif path.startswith(f"/api/models/{REPO}/revision/"):
            self.send(404, b"{}", body, {"X-Error-Code": "RevisionNotFound"})
        elif any(path.startswith(start) for start in known) and path.rpartition("/")[2] in files:
            data = (self.folder / path.rpartition("/")[2]).read_bytes()
            etag = hashlib.sha256(data).hexdigest()
            self.send(200, data, body, {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"'})
        elif f"/{REPO}/" in path:
            self.send(404, b"", body, {"X-Error-Code": "EntryNotFound"})
        else:
            self.send(404, b"{}", body, {"X-Error-Code": "RepoNotFound"})

    def send(self, status, data, body, headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)


@pytest.fixture
def hub(tiny, tmp_path):
    tiny("llama").save_pretrained(tmp_path / "repo")
    (tmp_path / "repo" / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n# small\n")
    handler = type("Handler", (Hub,), {"folder": tmp_path / "repo"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", tmp_path / "repo"
    server.shutdown()
    thread.join()
    server.server_close()


LOAD = """
import json, sys, torch
from armillary.errors import SourceError
from armillary.models import load
torch.set_num_threads(1)
for call in json.loads(sys.argv[1]):
    try:
        print(json.dumps(load(call.pop("id"), **call).provenance))
    except SourceError as error:
        print(json.dumps({"error": str(error)}))
"""

# What load does with a hub id before it reads the weights; torch is left out, since every client pays for its import.
FETCH = """
import json, sys
from armillary.errors import SourceError
from armillary.models.sources.checkpoints import Terms
from armillary.models.sources.hub import snapshot
for call in json.loads(sys.argv[1]):
    try:
        found = snapshot(call["id"], Terms(local_files_only=call.get("local_files_only", False)), "unknown")
        print(json.dumps({"revision": found.revision, "weights": len(found.weight_files())}))
    except SourceError as error:
        print(json.dumps({"error": str(error)}))
"""


def client(code, endpoint, home, *calls, **environment):
    settings = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home / "hf"), "ARMILLARY_CACHE": str(home / "cache")}
    online = {"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0", "HF_HUB_DISABLE_TELEMETRY": "1"}
    proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"), "")
    ended = subprocess.run(
        [sys.executable, "-c", code, json.dumps(calls)],
        env={**os.environ, **proxies, **online, **settings, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_a_hub_id_loads_and_records_its_commit_and_misses_are_said(hub, tmp_path):
    endpoint, _ = hub
    plain, pinned, unknown, unowned, revision = client(
        LOAD,
        endpoint,
        tmp_path,
        {"id": REPO},
        {"id": REPO, "revision": COMMIT},
        {"id": "someone/smaller"},
        {"id": "no-such-model"},
        {"id": REPO, "revision": "v9"},
    )
    assert plain["revision"] == pinned["revision"] == COMMIT
    assert plain["model_kind"] == "hub"
    assert plain["licence"] == "cc-by-4.0"
    assert plain["model_sha256"] == hashlib.sha256((hub[1] / "model.safetensors").read_bytes()).hexdigest()
    assert "got 'someone/smaller': built-in models are smollm2, minilm (the hub has no such id" in unknown["error"]
    assert "the hub has no such id" in unowned["error"]
    assert "revision 'v9' of 'someone/small'" in revision["error"]


def test_a_hub_that_is_down_or_forbidden_leaves_the_cache(hub, tmp_path):
    endpoint, _ = hub
    client(FETCH, endpoint, tmp_path, {"id": REPO})
    cached, missing = client(FETCH, "http://127.0.0.1:9", tmp_path, {"id": REPO}, {"id": "someone/else"})
    assert cached["revision"] == COMMIT
    assert "no connection to the hub" in missing["error"]
    asked = ({"id": REPO, "local_files_only": True}, {"id": "a/b", "local_files_only": True})
    local, absent = client(FETCH, endpoint, tmp_path, *asked)
    assert local["revision"] == COMMIT
    assert "not in the hub's cache" in absent["error"]
    offline, nowhere = client(FETCH, endpoint, tmp_path, {"id": REPO}, {"id": "someone/else"}, HF_HUB_OFFLINE="1")
    assert offline["revision"] == COMMIT
    assert "not in the hub's cache" in nowhere["error"]


def test_pickles_of_the_hub_are_refused_unless_allowed_and_a_twin_needs_none(hub, tmp_path):
    endpoint, repo = hub
    torch.save(load_file(repo / "model.safetensors"), repo / "pytorch_model.bin")
    (repo / "model.safetensors").unlink()
    calls = ({"id": REPO}, {"id": REPO, "random_weights": 1}, {"id": REPO, "allow_pickle": True})
    refused, twin, allowed = client(LOAD, endpoint, tmp_path, *calls)
    assert "--allow-pickle" in refused["error"]
    assert twin["random_weights"] == "seed 1"
    assert allowed["revision"] == twin["revision"] == COMMIT
