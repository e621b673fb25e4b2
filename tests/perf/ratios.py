"""What the ratios of ./dev perf share: their bounds, and the table that they are judged in."""

import random
import statistics

RESAMPLES = 4000


def bounds(ratios):
    """(lower, median, upper): one-sided 95 % bounds of the median."""
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 20], statistics.median(ratios), medians[-1 - RESAMPLES // 20]


def size_words(number):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number % unit == 0:
            return f"{number // unit} {name}"
    return f"{number} B"


class Table:
    def __init__(self):
        self.kept = self.missed = self.out_of_reach = 0
        print(f"{'ratio':<46} {'median':>7} {'95 % bound':>16}  limit")

    def row(self, what, ratios, limit, kept, note=""):
        """kept: of (lower, median, upper)."""
        low, median, high = bounds(ratios)
        ok = kept(low, median, high)
        self.missed += not ok
        self.kept += ok
        print(f"{what:<46} {median:7.3f} {low:7.3f} {high:8.3f}  {limit}: {'ok' if ok else 'MISSED'}"
              f"{', ' + note if note else ''}", flush=True)

    def beyond(self, what, ratios, limit, reason):
        """A limit that this machine can't show, with what it does show: neither kept nor missed."""
        low, median, high = bounds(ratios)
        self.out_of_reach += 1
        print(f"{what:<46} {median:7.3f} {low:7.3f} {high:8.3f}  {limit}: OUT OF REACH HERE: {reason}", flush=True)

    def fact(self, what, value, limit, ok):
        """Something that is no ratio."""
        self.missed += not ok
        self.kept += ok
        print(f"{what:<46} {value:>24}  {limit}: {'ok' if ok else 'MISSED'}", flush=True)

    def not_here(self, what, reason):
        self.out_of_reach += 1
        print(f"{what:<46} not measured: {reason}", flush=True)

    def fail(self, what, reason):
        self.missed += 1
        print(f"{what:<46} MISSED: {reason}", flush=True)
