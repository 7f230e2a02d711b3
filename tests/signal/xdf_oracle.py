"""Our XDF reader against pyxdf: the recordings of the test collection, and files made at random with drifting clocks,
jitter, pauses, restarts and bad measurements of offsets. Needs dump_recording in $ENVOI_BUILD/tests; skipped, by name,
without pyxdf."""
import glob
import logging
import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import pyxdf
except ImportError as missing:
    print(f"skipped: xdf_oracle needs {missing.name}")
    sys.exit(0)

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("ENVOI_BUILD", os.path.join(ROOT, "build", "release"))
DUMP = os.path.join(BUILD, "tests", "dump_recording")


def ours(path):
    text = subprocess.run([DUMP, path], check=True, capture_output=True).stdout.decode("utf-8")
    notes, channels = [], []
    for line in text.split("\n"):
        cells = line.split("\t")
        if cells[0] == "annotation":
            notes.append((float(cells[1]), cells[3]))
        elif cells[0] == "channel":
            channels.append({"name": cells[1], "rate": float(cells[3]), "start": float(cells[4]), "samples": []})
        elif len(cells) == 1 and line and channels:
            channels[-1]["samples"].append(float(line))
    return notes, channels


def compare(path):
    notes, channels = ours(path)
    streams, _ = pyxdf.load_xdf(path)
    even = [s for s in streams if float(s["info"]["nominal_srate"][0]) > 0 and s["info"]["channel_format"][0] != "string"]
    zero = min(s["time_stamps"][0] for s in even)
    at = 0
    order = {}
    for channel in channels:
        order.setdefault(channel["name"].rsplit(" ", 1)[0], []).append(channel)
    for stream in even:
        name, nominal = stream["info"]["name"][0], float(stream["info"]["nominal_srate"][0])
        mine = order[name]
        times, values = stream["time_stamps"], numpy.asarray(stream["time_series"], dtype=float)
        assert len(mine) == values.shape[1], (name, "channels")
        for i, channel in enumerate(mine):
            samples = numpy.array(channel["samples"])
            there = numpy.flatnonzero(~numpy.isnan(samples))
            assert len(there) == len(times), (name, len(there), len(times))
            assert numpy.array_equal(samples[there], values[:, i]), (name, "values")
            effective = stream["info"]["effective_srate"]
            assert min(abs(channel["rate"] / nominal - 1), abs(channel["rate"] / effective - 1)) < 1e-5, (channel["rate"], effective)
            off = numpy.abs(channel["start"] + there / channel["rate"] - (times - zero))
            # Half a sample for the grid, and what a rate that differs between the parts puts off in the longest of them.
            edges = numpy.flatnonzero(numpy.abs(numpy.diff(times)) > 0.5)
            parts = numpy.split(times, edges + 1)
            drift = max(abs((p[-1] - p[0]) - (len(p) - 1) / channel["rate"]) / 2 for p in parts)
            assert off.max() <= 0.51 / channel["rate"] + drift + 5e-4, (name, off.max(), drift)
        at += len(mine)
    assert at == len(channels)
    expected = sorted((t - zero, str(v[0]).strip()) for s in streams if s["info"]["channel_format"][0] == "string"
                      for t, v in zip(s["time_stamps"], s["time_series"]))
    assert len(expected) == len(notes), (len(expected), len(notes), "annotations")
    for (time, text), (my_time, my_text) in zip(expected, notes):
        assert abs(time - my_time) < 5e-4 and text == my_text, (time, my_time, text, my_text)


def chunk(tag, content):
    length = len(content) + 2
    head = b"\1" + bytes([length]) if length < 256 else b"\4" + struct.pack("<I", length)
    return head + struct.pack("<H", tag) + content


def header(number, name, kind, count, rate, form):
    return chunk(2, struct.pack("<I", number) + (
        f"<?xml version=\"1.0\"?><info><name>{name}</name><type>{kind}</type><channel_count>{count}</channel_count>"
        f"<nominal_srate>{rate}</nominal_srate><channel_format>{form}</channel_format></info>").encode())


def write_random(path, rng):
    """Streams on clocks of their own, told as their computers saw them, with measured offsets to the recorder's clock."""
    out = b"XDF:" + chunk(1, b"<?xml version=\"1.0\"?><info><version>1.0</version></info>")
    body = []  # (recorder's time, bytes)
    for number in range(1, rng.randint(1, 3) + 1):
        rate, count, has_text = rng.choice([50, 100, 128, 256]), rng.randint(1, 4), rng.random() < 0.5
        if has_text:
            out += header(number, f"s{number}", "Markers", 1, 0, "string")
        else:
            out += header(number, f"s{number}", "EEG", count, rate, "float32")
        begin, end, drift, ahead = 1000 + rng.uniform(0, 3), 1200, rng.uniform(-5e-5, 5e-5), rng.uniform(-1e5, 1e5)
        restart = rng.choice([None, rng.uniform(1080, 1120)])
        jump = rng.choice([-1, 1]) * rng.uniform(500, 1e4)

        def local(time):
            return time * (1 + drift) + ahead + (jump if restart is not None and time > restart else 0)

        def is_off(time):
            return restart is not None and restart < time < restart + 40

        time = begin
        while time < end:
            if not is_off(time):
                error = rng.uniform(-1e-4, 1e-4) + (rng.uniform(0.01, 0.3) if rng.random() < 0.03 else 0)
                body.append((time, chunk(4, struct.pack("<Idd", number, local(time), time - local(time) + error))))
            time += 5
        time, value, real_rate = begin, 0, rate * rng.choice([1, 1, 1.001, 0.97])
        while time < end:
            if is_off(time):
                time = restart + 40
            elif rng.random() < 0.005:
                time += rng.uniform(12, 20)
            if has_text:
                stamp, word = struct.pack("<d", local(time)), f"event {value}".encode()
                body.append((time, chunk(3, struct.pack("<I", number) + b"\1\1\x08" + stamp + b"\1" + bytes([len(word)]) + word)))
                time, value = time + rng.uniform(0.5, 9), value + 1
                continue
            content, first = struct.pack("<I", number) + b"\4" + struct.pack("<I", 32), time
            for _ in range(32):
                stamp = local(first) + (time - first) * (1 + drift) + rng.uniform(-0.2, 0.2) / rate
                content += b"\x08" + struct.pack("<d", stamp)
                content += struct.pack(f"<{count}f", *[value + 0.25 * c for c in range(count)])
                time, value = time + 1 / real_rate, value + 1
            body.append((time, chunk(3, content)))
    if b"float32" not in out:
        return write_random(path, rng)
    with open(path, "wb") as file:
        file.write(out + b"".join(content for _, content in sorted(body, key=lambda pair: pair[0])))


def main():
    logging.disable(logging.CRITICAL)
    cases = os.environ.get("ENVOI_CASES", os.path.join(ROOT, "..", "shared", "cases"))
    paths = sorted(glob.glob(os.path.join(cases, "xdf", "*.xdf")))
    if not paths:
        print("skipped: xdf_oracle's recordings are not here, set ENVOI_CASES")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(20260131)
        for i in range(12):
            paths.append(os.path.join(folder, f"{i}.xdf"))
            write_random(paths[-1], rng)
        for path in paths:
            try:
                compare(path)
            except (AssertionError, subprocess.CalledProcessError) as fault:
                failed += 1
                print(f"FAILED {path}: {fault} {getattr(fault, 'stderr', '') or ''}")
    print(f"xdf_oracle: {len(paths) - failed} of {len(paths)} files agree with pyxdf")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
