"""What a pool of processes does in tests: here, as its processes import what they are given."""

import os
import signal
import time

from scrapy_neardup.errors import ConfigurationError


def sleep(_, seconds):
    time.sleep(seconds)
    return os.getpid()


def add(base, task):
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "fail":
        raise ConfigurationError("it failed")
    return base + task
