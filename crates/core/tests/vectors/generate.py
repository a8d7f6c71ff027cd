#!/usr/bin/env python3
"""Writes the time vectors next to this file: a second opinion on `meantime_core::time`.

Everything is computed by brute force from the written rules (T3, S1, S13), with the zone rules of
the `tzdata` package and calendar steps of `dateutil`; nothing here shares code or method with the
engine. The versions used are in the header of each file.

    pip install tzdata==2026.5 python-dateutil==2.9.0.post0
    python3 generate.py

Series are stored as a first instant and runs of equal steps, in seconds: [first, [step, times]...].
"""

import json
import random
import sys
import zoneinfo
from datetime import date, datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path

from dateutil.relativedelta import relativedelta

zoneinfo.reset_tzpath([])  # only the package, never the files of the host
UTC = timezone.utc
MINUTE = timedelta(minutes=1)
HERE = Path(__file__).parent

ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Pacific/Apia",
    "UTC",
]
DECADE = (2011, 2021)
# Beyond the tables of explicit changes, where only the rule at the end of the zone file speaks.
FUTURE = (2037, 2042)


def main():
    write("additions.json", additions())
    write("series.json", series())
    write("cron_dst.json", cron_around_changes())
    write("cron_days.json", cron_calendar())


def write(name, cases):
    header = {
        "python": sys.version.split()[0],
        "tzdata": version("tzdata"),
        "dateutil": version("python-dateutil"),
    }
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    text = '{"made_with":%s,"cases":[\n%s\n]}\n' % (json.dumps(header), lines)
    (HERE / name).write_text(text)
    print(name, len(cases), "cases", len(text), "bytes")


# Instants and local times


def seconds(instant):
    return int(instant.timestamp())


def instant(local, zone):
    """A skipped local time keeps the offset from before the gap; of two equal ones the first."""
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)


def naive(moment, zone):
    return moment.astimezone(zone).replace(tzinfo=None)


def runs(instants):
    """[first, [step, times]...]"""
    encoded = [seconds(instants[0])] if instants else []
    for before, after in zip(instants, instants[1:]):
        step = seconds(after) - seconds(before)
        if len(encoded) > 1 and encoded[-1][0] == step:
            encoded[-1][1] += 1
        else:
            encoded.append([step, 1])
    return encoded


def changes(zone, first_year, last_year):
    """The instants at which the offset changes, to the minute."""
    found = []
    moment = datetime(first_year, 1, 1, tzinfo=UTC)
    end = datetime(last_year, 1, 1, tzinfo=UTC)
    while moment < end:
        later = moment + timedelta(hours=6)
        if naive(later, zone) - naive(moment, zone) != timedelta(hours=6):
            probe = moment
            while naive(probe + MINUTE, zone) - naive(probe, zone) == MINUTE:
                probe += MINUTE
            found.append(probe + MINUTE)
        moment = later
    return found


# T3: adding a duration to an instant

SPANS = [
    ("P1D", dict(days=1), 0),
    ("P1W", dict(weeks=1), 0),
    ("P1M", dict(months=1), 0),
    ("P2M", dict(months=2), 0),
    ("P12M", dict(months=12), 0),
    ("P1Y", dict(years=1), 0),
    ("P4Y", dict(years=4), 0),
    ("P1Y1M1D", dict(years=1, months=1, days=1), 0),
    ("P3M2W4D", dict(months=3, weeks=2, days=4), 0),
    ("PT24H", {}, 86400),
    ("P1DT12H", dict(days=1), 43200),
    ("P1MT90M", dict(months=1), 5400),
    ("PT36H", {}, 129600),
]


def plus(start, zone, calendar, clock):
    if calendar:
        start = instant(naive(start, zone) + relativedelta(**calendar), zone)
    return start + timedelta(seconds=clock)


def additions():
    rng = random.Random(1)
    cases = []
    for name in ZONES:
        zone = zoneinfo.ZoneInfo(name)
        starts = [instant(datetime(y, m, d, 2, 30), zone)
                  for y, m, d in [(2019, 1, 31), (2020, 1, 30), (2020, 2, 29), (2020, 12, 31),
                                  (2000, 2, 29), (1999, 8, 31)]]
        for change in changes(zone, *DECADE)[::5]:
            for back in (1, 7, 30):
                jitter = timedelta(minutes=rng.randrange(-120, 180))
                starts.append(change - timedelta(days=back) + jitter)
        for start in starts:
            for text, calendar, clock in SPANS:
                end = plus(start, zone, calendar, clock)
                cases.append([name, seconds(start), text, seconds(end)])
    return cases


# S1: occurrence n is anchor + n * interval

INTERVALS = [
    ("P1D", "days", 1),
    ("P1W", "weeks", 1),
    ("P1M", "months", 1),
    ("P1Y", "years", 1),
    ("PT24H", None, 86400),
    ("PT7H", None, 25200),
]
ANCHORS = [(1, 31, 2, 30), (1, 30, 0, 0), (1, 29, 1, 45), (1, 28, 23, 59)]


def series():
    cases = []
    for name in ZONES:
        zone = zoneinfo.ZoneInfo(name)
        for first, last in (DECADE, FUTURE):
            end = datetime(last, 1, 1, tzinfo=UTC)
            for month, day, hour, minute in ANCHORS if first == DECADE[0] else ANCHORS[:2]:
                anchor = instant(datetime(first, month, day, hour, minute), zone)
                for text, unit, size in INTERVALS:
                    found, n = [], 0
                    while True:
                        if unit is None:
                            at = anchor + n * timedelta(seconds=size)
                        else:
                            at = plus(anchor, zone, {unit: n * size} if n else {}, 0)
                        if at >= end:
                            break
                        if not found or at > found[-1]:
                            found.append(at)
                        n += 1
                    cases.append([name, seconds(anchor), text, seconds(end), runs(found)])
    return cases


# S13: cron

NAMES = {name: str(n) for n, name in enumerate("SUN MON TUE WED THU FRI SAT".split())}
NAMES |= {name: str(n + 1) for n, name in enumerate(
    "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split())}


def expand(field, low, high):
    """All values of a field of plain values, ranges, lists and steps."""
    values = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        if span in ("*", "?"):
            begin, stop = low, high
        elif "-" in span:
            begin, stop = (int(NAMES.get(part, part)) for part in span.split("-"))
        else:
            begin = int(NAMES.get(span, span))
            stop = high if step else begin
        values.update(range(begin, stop + 1, int(step or 1)))
    return values


class Cron:
    def __init__(self, text):
        minute, hour, self.day, month, self.weekday = text.split()
        self.minutes = expand(minute, 0, 59)
        self.hours = expand(hour, 0, 23)
        self.months = expand(month, 1, 12)
        self.elapsed = "*" in hour or "/" in hour

    def day_matches(self, day):
        if day.month not in self.months:
            return False
        any_day, any_weekday = self.day in "*?", self.weekday in "*?"
        by_day = any(self.in_day_item(item, day) for item in self.day.split(","))
        by_weekday = any(self.in_weekday_item(item, day) for item in self.weekday.split(","))
        if not any_day and not any_weekday:
            return by_day or by_weekday
        return by_day and by_weekday

    def in_day_item(self, item, day):
        if item.startswith("L"):
            left = int(item[2:] or 0)
            target = day + timedelta(days=left)
            return target.month == day.month and (target + timedelta(days=1)).day == 1
        return day.day in expand(item, 1, 31)

    def in_weekday_item(self, item, day):
        weekday = day.isoweekday() % 7
        if "#" in item:
            name, nth = item.split("#")
            return int(NAMES.get(name, name)) % 7 == weekday and (day.day - 1) // 7 + 1 == int(nth)
        if item.endswith("L"):
            name = item[:-1]
            last = (day + timedelta(days=7)).month != day.month
            return int(NAMES.get(name, name)) % 7 == weekday and last
        return weekday in {value % 7 for value in expand(item, 0, 6)}

    def matches(self, local):
        return (local.minute in self.minutes and local.hour in self.hours
                and self.day_matches(local.date()))


def fires(cron, zone, start, end):
    """All occurrences in [start, end), by walking over every minute of a wider window."""
    wide = timedelta(days=2)
    walk, moment = [], start - wide
    while moment < end + wide:
        walk.append((moment, naive(moment, zone)))
        moment += MINUTE
    found = set()
    if cron.elapsed:
        found.update(moment for moment, local in walk if cron.matches(local))
    else:
        shown = {}
        for moment, local in walk:
            shown.setdefault(local, moment)  # the first pass
        local, last = walk[0][1], walk[-1][1]
        while local < last:
            if cron.matches(local):
                if local in shown:
                    found.add(shown[local])
                else:
                    # Skipped: the first minute whose clock is past it.
                    found.add(next(moment for moment, clock in walk if clock > local))
            local += MINUTE
    return sorted(moment for moment in found if start <= moment < end)


AROUND = [
    "30 2 * * *", "30 1 * * *", "0 0 * * *", "15 0 * * *", "0 3 * * *", "0,30 2,3 * * *",
    "*/20 1-3 * * *", "*/15 2 * * *", "45 1 * * 0", "10 0,1,2,3,23 * * *",
    "0 * * * *", "*/30 * * * *", "0 */2 * * *", "30 1/3 * * *", "20 0-6/2 * * *",
    "*/45 */3 * * SUN", "0 0 L * *", "0 12 30 12 *",
]


def cron_around_changes():
    cases = []
    half = timedelta(hours=25)
    for name in ZONES:
        zone = zoneinfo.ZoneInfo(name)
        found = changes(zone, *DECADE) + changes(zone, *FUTURE)[:4]
        if not found:
            found = [datetime(2016, 2, 28, 12, tzinfo=UTC)]
        for number, change in enumerate(found):
            # Half of the expressions at each: changes forward and back alternate, so pairs do.
            for text in AROUND[number // 2 % 2::2]:
                got = fires(Cron(text), zone, change - half, change + half)
                cases.append([name, text, seconds(change - half), seconds(change + half),
                              runs(got)])
    return cases


CALENDAR = [
    "0 0 L * *", "0 0 L-1 * *", "0 0 L-30 * *", "0 0 15,L * *", "30 6 L 2 *", "0 0 29 2 *",
    "0 0 31 * *", "0 0 30 4,6 *", "0 9 * * FRI#2", "0 9 * * 5#5", "0 9 * * FRIL", "0 9 * * 0L",
    "0 9 * * 7#1", "0 9 * * MON#1,MON#3", "0 9 13 * FRI", "0 9 1-7 * MON", "0 9 */10 * SUN",
    "0 9 ? * MON-FRI", "0 9 L * FRI#1", "15 10 1 JAN,JUL ?", "*/7 5 * 3 2", "0 0 1/9 * *",
    "5 4 * * SUN", "5 4 * * 7", "0 22 * * 1-5", "23 0-20/2 * * *", "0 0,12 1 */2 *",
    "0 4 8-14 * *", "0 0 1,15 * 3", "59 23 31 DEC *", "0 0 * * 5-7", "0 0 * * 1-5/2",
    "1-59/29 3 1 * *", "0 12 * 2 MONL", "0 0 29 2 1", "10/25 6/6 * * 6", "0 0 L-2 * 2#2",
]


def cron_calendar():
    cases = []
    start, end = date(2015, 12, 30), date(2030, 1, 1)
    for text in CALENDAR:
        cron, found, day = Cron(text), [], start
        while day < end and len(found) < 60:
            if cron.day_matches(day):
                found.extend(datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)
                             for hour in sorted(cron.hours) for minute in sorted(cron.minutes))
            day += timedelta(days=1)
        begin = datetime(start.year, start.month, start.day, tzinfo=UTC)
        stop = datetime(day.year, day.month, day.day, tzinfo=UTC)
        cases.append(["UTC", text, seconds(begin), seconds(stop), runs(found)])
    return cases


if __name__ == "__main__":
    main()
