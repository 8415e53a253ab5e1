"""Workers of a cluster that tests send out: late, or not for long. A module of its own, for workers import it."""

import os
import random
import time

from armillary.surveys.engines.ray import Worker


class Uneven(Worker):
    """A worker that takes its time, another one each time: shards are done in another order than they were given."""

    def shard(self, number, pilot):
        time.sleep(random.Random(number).random() * 0.3)
        return super().shard(number, pilot)


class Mortal(Worker):
    """A worker whose every third shard is its last."""

    calls = 0

    def shard(self, number, pilot):
        self.calls += 1
        if self.calls == 3:
            os._exit(1)
        return super().shard(number, pilot)
