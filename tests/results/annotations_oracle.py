"""Files of annotations by `envoi analyze --annotate`, read back with EDFlib (through pyedflib) and as text. Needs the
command in $ENVOI_BUILD; skipped, by name, without pyedflib."""
import csv
import datetime
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import pyedflib
except ImportError as missing:
    print(f"skipped: annotations_oracle needs {missing.name}")
    sys.exit(0)

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ENVOI = os.path.join(os.environ.get("ENVOI_BUILD", os.path.join(ROOT, "build", "release")), "envoi")
FWHM = 2 * numpy.sqrt(2 * numpy.log(2))


def write_input(path, channels, seconds):
    """Bursts of 12 Hz in noise, a second each, in an EDF+ file."""
    random = numpy.random.default_rng(channels)
    t = numpy.arange(seconds * 100) / 100
    with pyedflib.EdfWriter(path, channels, file_type=pyedflib.FILETYPE_EDFPLUS) as writer:
        signals = []
        for i in range(channels):
            x = random.normal(size=len(t))
            for centre in numpy.arange(3 + i, seconds - 2, 7):
                x += 30 * numpy.exp(-((t - centre) ** 2) / (2 * 0.35**2)) * numpy.cos(2 * numpy.pi * 12 * (t - centre))
            signals.append(x)
            writer.setSignalHeader(i, {
                "label": f"C{i + 1}", "dimension": "uV", "sample_frequency": 100, "physical_min": -200,
                "physical_max": 200, "digital_min": -32768, "digital_max": 32767, "transducer": "", "prefilter": "",
            })
        writer.setStartdatetime(datetime.datetime(2026, 1, 31, 22, 10, 5))
        writer.writeSamples(signals)


def check(folder, channels, seconds, atoms, rule):
    source, edf, tsv, txt, result = (os.path.join(folder, name) for name in
                                     ("in.edf", "out.edf", "out.tsv", "out.txt", "out.json"))
    write_input(source, channels, seconds)
    subprocess.run([ENVOI, "analyze", source, "--window", "10", "-n", str(atoms), "--band", "1:40", "--annotate", rule,
                    "--annotations", edf, "--annotations", tsv, "--annotations", txt, "-o", result], check=True)
    with open(result, encoding="utf-8") as file:
        document = json.load(file)
    name = rule.split(":")[0]
    expected = []
    for segment in document["segments"]:
        for atom in segment["atoms"]:
            width = FWHM * atom["duration_s"]
            if 11 <= atom["frequency_hz"] <= 16 and 0.5 <= width <= 2 and atom["peak"] >= 10:
                expected.append((atom["time_s"] - width / 2, width, f"C{segment['channel'] + 1}"))
    expected.sort()
    assert len(expected) >= channels * (seconds // 7 - 1), (len(expected), "found")

    with pyedflib.EdfReader(edf) as reader:
        assert reader.getStartdatetime() == datetime.datetime(2026, 1, 31, 22, 10, 5), reader.getStartdatetime()
        assert reader.signals_in_file == 0
        onsets, durations, texts = reader.readAnnotations()
    assert len(onsets) == len(expected), (len(onsets), len(expected), "EDF+")
    for onset, duration, text, (start, width, channel) in zip(onsets, durations, texts, expected):
        assert abs(onset - start) < 1e-6 and abs(duration - width) < 1e-6, (onset, duration, start, width)
        assert text == (f"{name}@@{channel}" if channels > 1 else name), text

    with open(tsv, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == len(expected), "TSV"
    for row, (start, width, channel) in zip(rows, expected):
        assert abs(float(row["onset"]) - start) < 1e-9 and abs(float(row["duration"]) - width) < 1e-9, row
        assert (row["description"], row["channel"]) == (name, channel), row

    with open(txt, encoding="utf-8") as file:
        labels = [line.rstrip("\n").split("\t") for line in file]
    assert len(labels) == len(expected), "labels"
    for (start, end, label), (onset, width, channel) in zip(labels, expected):
        assert abs(float(start) - onset) < 1e-6 and abs(float(end) - onset - width) < 1e-6, (start, end)
        assert label == (f"{name} {channel}" if channels > 1 else name), label


def main():
    failed = 0
    cases = ((1, 60, 6, "spindle: 11-16 Hz, 0.5-2 s, peak > 10uV"), (3, 700, 3, "sp\u00fcle: 11-16 Hz, 0.5-2 s, peak > 0.01 mV"))
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(folder, *case)
            except (AssertionError, OSError, subprocess.CalledProcessError) as fault:
                failed += 1
                print(f"FAILED {case}: {fault}")
    print(f"annotations_oracle: {len(cases) - failed} of {len(cases)} sets of files read back the same")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
