"""Our EDF reader against EDFlib (through pyedflib): the recordings of the test collection, and files that EDFlib
itself writes at random. Needs dump_recording in $ENVOI_BUILD/tests; skipped, by name, without pyedflib."""
import datetime
import glob
import os
import random
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy
    import pyedflib
except ImportError as missing:
    print(f"skipped: edf_oracle needs {missing.name}")
    sys.exit(0)

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("ENVOI_BUILD", os.path.join(ROOT, "build", "release"))
DUMP = os.path.join(BUILD, "tests", "dump_recording")


def ours(path):
    text = subprocess.run([DUMP, path], check=True, capture_output=True).stdout.decode("utf-8")
    found = {"annotations": [], "channels": [], "warnings": []}
    for line in text.split("\n"):
        cells = line.split("\t")
        if cells[0] == "annotation":
            found["annotations"].append((float(cells[1]), float(cells[2]), cells[3]))
        elif cells[0] == "channel":
            found["channels"].append(
                {"name": cells[1], "unit": cells[2], "rate": float(cells[3]), "count": int(cells[5]), "samples": []}
            )
        elif cells[0] == "warning":
            found["warnings"].append(cells[1])
        elif len(cells) == 2:
            found[cells[0]] = cells[1]
        elif line:
            found["channels"][-1]["samples"].append(float(line))
    return found


def text_of(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def compare(path, expect_start=True):
    mine = ours(path)
    with pyedflib.EdfReader(path) as theirs:
        assert len(mine["channels"]) == theirs.signals_in_file, "channels"
        for i, channel in enumerate(mine["channels"]):
            samples = theirs.readSignal(i)
            rate = theirs.samples_in_datarecord(i) / theirs.datarecord_duration
            assert channel["count"] == len(samples) == len(channel["samples"]), (channel["name"], "samples")
            assert abs(channel["rate"] - rate) <= 1e-9 * rate, (channel["rate"], rate)
            low, high = theirs.getPhysicalMinimum(i), theirs.getPhysicalMaximum(i)
            error = numpy.max(numpy.abs(numpy.array(channel["samples"]) - samples))
            assert error <= 1e-9 * max(abs(low), abs(high)), (channel["name"], error)
            assert channel["name"].split(" (")[0] == theirs.getLabel(i).strip().split(" (")[0], channel["name"]
        if expect_start:
            start = datetime.datetime.fromisoformat(mine["start"].split(".")[0])
            assert start == theirs.getStartdatetime().replace(microsecond=0), (mine["start"], "start")
        onsets, durations, texts = theirs.readAnnotations()
        expected = sorted((float(o), text_of(t)) for o, t in zip(onsets, texts))
        found = sorted((o, t) for o, _, t in mine["annotations"])
        assert len(expected) == len(found), (len(found), len(expected), "annotations")
        for (onset, text), (my_onset, my_text) in zip(expected, found):
            assert abs(onset - my_onset) < 1e-6 and text == my_text, (onset, my_onset, text, my_text)


def write_random(path, rng):
    wide = path.endswith("bdf")
    kind = {
        (False, False): pyedflib.FILETYPE_EDF, (False, True): pyedflib.FILETYPE_EDFPLUS,
        (True, False): pyedflib.FILETYPE_BDF, (True, True): pyedflib.FILETYPE_BDFPLUS,
    }[(wide, rng.random() < 0.7)]
    plus = kind in (pyedflib.FILETYPE_EDFPLUS, pyedflib.FILETYPE_BDFPLUS)
    channels = rng.randint(1, 6)
    record_s = rng.choice([1, 1, 0.5, 0.25, 2, 10])
    with pyedflib.EdfWriter(path, channels, file_type=kind) as writer:
        writer.setDatarecordDuration(record_s)
        bits = 23 if wide else 15
        signals, records = [], rng.randint(1, 5)
        for i in range(channels):
            per_record = rng.randint(1, 300)
            high = rng.choice([100.0, 3276.7, 0.5, 187500.0])
            writer.setSignalHeader(i, {
                "label": f"ch {i}", "dimension": rng.choice(["uV", "mV", "V", "degC"]),
                "sample_frequency": per_record / record_s, "physical_min": -high, "physical_max": high * 0.9,
                "digital_min": -(2**bits), "digital_max": 2**bits - 1, "transducer": "", "prefilter": "",
            })
            noise = numpy.random.default_rng(rng.randint(0, 2**31)).uniform(-0.8 * high, 0.8 * high,
                                                                          per_record * records)
            signals.append(noise)
        writer.setStartdatetime(datetime.datetime(rng.randint(1985, 2084), rng.randint(1, 12), rng.randint(1, 28),
                                                  rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59)))
        writer.writeSamples(signals)
        if plus:
            for _ in range(rng.randint(0, records)):
                writer.writeAnnotation(round(rng.uniform(0, records * record_s), 4), rng.choice([-1, 0.5]),
                                       rng.choice(["eyes open", "sp\u00fcle", "\u4e2d\u6587", "x" * 30]))


def main():
    warnings.simplefilter("ignore")  # EDFlib rounds the headers that it writes, and says so each time
    cases = os.environ.get("ENVOI_CASES", os.path.join(ROOT, "..", "shared", "cases"))
    paths = sorted(glob.glob(os.path.join(cases, "edf", "*.[eb]df")))
    if not paths:
        print("skipped: edf_oracle's recordings are not here, set ENVOI_CASES")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(20260131)
        made = []
        for i in range(40):
            made.append(os.path.join(folder, f"{i}.{rng.choice(['edf', 'bdf'])}"))
            write_random(made[-1], rng)
        for path in paths + made:
            try:
                compare(path)
            except (AssertionError, subprocess.CalledProcessError) as fault:
                failed += 1
                print(f"FAILED {path}: {fault} {getattr(fault, 'stderr', '') or ''}")
            except OSError as fault:  # EDFlib itself refuses it
                print(f"skipped: EDFlib does not open {os.path.basename(path)}: {fault}")
    print(f"edf_oracle: {len(paths) + len(made) - failed} of {len(paths) + len(made)} files agree with EDFlib")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
