"""Fifty clients at once on the explorer for a minute: what is answered, how fast, and in how much memory.

    python benchmarks/explorer_load.py RUN [--clients 50] [--seconds 60]

The server runs in a process of its own, as `armillary explore` starts it. Every client asks for one thing after the
other that the page shows of the run. Expected: no answer but 200 and the stated limits (503), 95 % of them within 500
ms, and no more memory at the end than after the first third.
"""

import argparse
import collections
import http.client
import json
import random
import re
import subprocess
import sys
import threading
import time

import psutil


def started(run):
    """The server and its port."""
    code = f"import armillary as arm; arm.explore({run!r}, browser=False)"
    server = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        if found := re.search(r"127\.0\.0\.1:(\d+)", line):
            threading.Thread(target=server.stderr.read, daemon=True).start()
            return server, int(found[1])
    raise SystemExit("the explorer did not start")


def asked(port, path):
    """Status, body and seconds of one request."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read(), time.perf_counter() - began
    finally:
        connection.close()


def browsed(port):
    """What the page asks for: the run, its figures, its heads."""
    facts = json.loads(asked(port, "/api/run")[1])
    figures = [figure["name"] for figure in facts["figures"]]
    paths = ["/", "/api/run", "/api/themes", "/api/glossary", *(f"/api/figures/{name}" for name in figures)]
    return [path for path in paths if asked(port, path)[0] == 200]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    server, port = started(given.run)
    try:
        paths = browsed(port)
        process, end = psutil.Process(server.pid), time.monotonic() + given.seconds
        seen, memory = collections.Counter(), [process.memory_info().rss]
        times, lock = [], threading.Lock()

        def client(seed):
            choice = random.Random(seed)
            while time.monotonic() < end:
                try:
                    status, _, seconds = asked(port, choice.choice(paths))
                except OSError as error:
                    status, seconds = type(error).__name__, 0.0
                with lock:
                    seen[status] += 1
                    times.append(seconds)
                time.sleep(choice.expovariate(2))  # a person looks at what came

        clients = [threading.Thread(target=client, args=(seed,)) for seed in range(given.clients)]
        for each in clients:
            each.start()
        while time.monotonic() < end:
            time.sleep(given.seconds / 30)
            memory.append(process.memory_info().rss)
        for each in clients:
            each.join()
    finally:
        server.terminate()
    times.sort()
    third = max(memory[: len(memory) // 3])
    print(f"{given.clients} clients, {given.seconds:.0f} s, {len(paths)} addresses, {len(times)} answers: {dict(seen)}")
    print(
        f"seconds: median {times[len(times) // 2]:.3f}, 95 % {times[int(0.95 * len(times))]:.3f}, most {times[-1]:.3f}"
    )
    print(f"memory: {third / 1e6:.0f} MB in the first third, {max(memory) / 1e6:.0f} MB at most, "
          f"{memory[-1] / 1e6:.0f} MB at the end")  # fmt: skip


if __name__ == "__main__":
    main()
