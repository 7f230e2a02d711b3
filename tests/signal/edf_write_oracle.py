"""EDF+ and BDF+ that we write against EDFlib (through pyedflib): recordings of the test collection and signals at random
are written again, and EDFlib finds the same samples within a step, rates, units, start and annotations. Needs
write_recording in $ENVOI_BUILD/tests; skipped, by name, without pyedflib."""
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
    print(f"skipped: edf_write_oracle needs {missing.name}")
    sys.exit(0)

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("ENVOI_BUILD", os.path.join(ROOT, "build", "release"))
WRITE = os.path.join(BUILD, "tests", "write_recording")


def text_of(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def contents(path):
    """What EDFlib finds, annotations of missing samples apart."""
    with pyedflib.EdfReader(path) as edf:
        onsets, durations, texts = edf.readAnnotations()
        notes = sorted((float(o), float(d), text_of(t)) for o, d, t in zip(onsets, durations, texts))
        channels = []
        for i in range(edf.signals_in_file):
            rate = edf.samples_in_datarecord(i) / edf.datarecord_duration
            step = (edf.getPhysicalMaximum(i) - edf.getPhysicalMinimum(i)) / (
                edf.getDigitalMaximum(i) - edf.getDigitalMinimum(i)
            )
            unit = edf.getPhysicalDimension(i).strip()
            channels.append((edf.getLabel(i).strip(), unit, rate, edf.readSignal(i), abs(step)))
        return {
            "start": edf.getStartdatetime().replace(microsecond=0),
            "notes": [n for n in notes if n[2] != "BAD_missing"],
            "missing": [n for n in notes if n[2] == "BAD_missing"],
            "channels": channels,
        }


def compare(path, ending, folder):
    out = os.path.join(folder, "out" + ending)
    subprocess.run([WRITE, path, out], check=True, capture_output=True)
    before, after = contents(path), contents(out)
    assert before["start"] == after["start"], ("start", before["start"], after["start"])
    assert len(before["notes"]) == len(after["notes"]), ("annotations", len(before["notes"]), len(after["notes"]))
    for a, b in zip(before["notes"], after["notes"]):
        assert abs(a[0] - b[0]) < 1e-6 and abs(a[1] - b[1]) < 1e-6 and a[2] == b[2], (a, b)
    assert len(before["channels"]) == len(after["channels"]), "channels"
    for (label, unit, rate, samples, _), (label_2, unit_2, rate_2, samples_2, step) in zip(
        before["channels"], after["channels"]
    ):
        assert label == label_2.split(" (")[0], (label, label_2)
        scale = {"V": 1, "mV": 1e3, "uV": 1e6, "nV": 1e9}
        factor = 1 if unit == unit_2 else scale[unit_2] / scale[unit]
        assert abs(rate - rate_2) <= 1e-7 * rate, ("rate", rate, rate_2)
        assert len(samples_2) >= len(samples), ("samples", len(samples), len(samples_2))
        if len(samples_2) > len(samples):
            assert after["missing"], "made-up samples are annotated"
        error = numpy.max(numpy.abs(samples_2[: len(samples)] - factor * samples))
        assert error <= 0.5001 * step, (label, error, step)


def make(path, rng):
    """A recording with a start, annotations and channels of several rates, by EDFlib."""
    channels = rng.randint(1, 5)
    with pyedflib.EdfWriter(path, channels, file_type=pyedflib.FILETYPE_BDFPLUS) as writer:
        record_s = rng.choice([1, 0.5, 2, 10])
        records = rng.randint(1, 8)
        writer.setDatarecordDuration(record_s)
        signals = []
        for i in range(channels):
            per_record = rng.randint(1, 400)
            high = rng.choice([100.0, 3276.7, 0.5, 187500.0])
            writer.setSignalHeader(i, {
                "label": f"ch {i}", "dimension": rng.choice(["uV", "mV", "degC"]),
                "sample_frequency": per_record / record_s, "physical_min": -high, "physical_max": high,
                "digital_min": -(2**23), "digital_max": 2**23 - 1, "transducer": "", "prefilter": "",
            })
            signals.append(numpy.random.default_rng(rng.randint(0, 2**31)).uniform(-0.9 * high, 0.8 * high,
                                                                                 per_record * records))
        writer.setStartdatetime(datetime.datetime(rng.randint(1985, 2084), rng.randint(1, 12), rng.randint(1, 28),
                                                  rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59)))
        writer.writeSamples(signals)
        for _ in range(rng.randint(0, records)):
            writer.writeAnnotation(round(rng.uniform(0, records * record_s), 4), rng.choice([-1, 0.5]),
                                   rng.choice(["eyes open", "sp\u00fcle", "\u4e2d\u6587", "x" * 30]))


def main():
    warnings.simplefilter("ignore")  # EDFlib rounds the headers that it writes, and says so each time
    cases = os.environ.get("ENVOI_CASES", os.path.join(ROOT, "..", "shared", "cases"))
    paths = sorted(glob.glob(os.path.join(cases, "edf", "*.[eb]df")))
    if not paths:
        print("skipped: edf_write_oracle's recordings are not here, set ENVOI_CASES")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(20260131)
        for i in range(30):
            paths.append(os.path.join(folder, f"{i}.bdf"))
            make(paths[-1], rng)
        for path in paths:
            for ending in (".edf", ".bdf"):
                try:
                    compare(path, ending, folder)
                except (AssertionError, OSError, subprocess.CalledProcessError) as fault:
                    failed += 1
                    print(f"FAILED {os.path.basename(path)} as {ending}: {fault} {getattr(fault, 'stderr', '') or ''}")
    print(f"edf_write_oracle: {2 * len(paths) - failed} of {2 * len(paths)} files agree with EDFlib")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
