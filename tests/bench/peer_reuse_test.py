# SPDX-License-Identifier: Apache-2.0
"""What of a slot's tokens the peer of the reuse bench would use again; needs no llama.cpp."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from peer_reuse import find_reuse

A, B, C = (list(range(start, start + 300)) for start in (1000, 2000, 3000))
HEADER, ANSWER = [1, 2, 3], [8, 9]


class FindReuse(unittest.TestCase):
    def test_the_same_prompt_is_kept(self):
        self.assertEqual(find_reuse(HEADER + A + ANSWER, HEADER + A, 256), (303, []))

    def test_another_end_is_read(self):
        self.assertEqual(find_reuse(HEADER + A + [7] + ANSWER, HEADER + A + [6], 256), (303, []))

    def test_what_stands_behind_something_dropped_is_shifted(self):
        held = HEADER + A + B + C + ANSWER
        self.assertEqual(find_reuse(held, HEADER + A + C + [7], 256), (303, [(603, 303, 300)]))

    def test_only_what_stands_in_the_old_order_is_used(self):
        held = HEADER + A + B + C
        self.assertEqual(find_reuse(held, HEADER + C + B + A, 256), (3, [(603, 3, 300)]))

    def test_short_runs_are_not_worth_a_shift(self):
        held = HEADER + A[:100] + [5] + A[100:] + B
        self.assertEqual(find_reuse(held, HEADER + A + B, 256), (103, [(104, 103, 500)]))
        self.assertEqual(find_reuse(held, HEADER + A[:200], 256), (103, []))

    def test_nothing_is_shifted_unless_wanted(self):
        self.assertEqual(find_reuse(HEADER + A + B, HEADER + B, 0), (3, []))

    def test_an_empty_slot_has_nothing(self):
        self.assertEqual(find_reuse([], HEADER + A, 256), (0, []))


if __name__ == "__main__":
    unittest.main()
