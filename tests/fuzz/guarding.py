"""The guard of results files in a process that has its libraries already and forks for each file: new ones take longer.

As a program, `guarding.py FOLDER-OF-THE-GUARD`, it answers a line for each path that comes in. Every child has the
guard's own limits; what brings a child down is refused, as `inspection` refuses it.
"""

import json
import os
import signal
import sys

sys.path.insert(0, sys.argv[1])

import guard

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        signal.alarm(6 * guard.SECONDS)
        guard.limit()
        sys.stdout.write(json.dumps(guard.answered(line[:-1])) + "\n")
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.stdout.write(json.dumps({"refused": "HDF5 cannot read it"}) + "\n")
        sys.stdout.flush()
