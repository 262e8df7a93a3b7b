"""A callback in another thread changes the tree of a response that is judged once more."""

import subprocess
import sys

import pytest
import shared_tree

READ = 2_000

pytestmark = [pytest.mark.stress, pytest.mark.timeout(3_600)]


def test_a_tree_that_changes_while_it_is_read(tried):
    done = subprocess.run(
        [sys.executable, shared_tree.__file__, str(READ)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert int(done.stdout) > READ
    tried("pages read while another thread changes their tree", READ)
