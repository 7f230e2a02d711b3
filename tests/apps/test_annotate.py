"""Atoms to annotations by rules, and windows about annotations."""

import json
import os
import pathlib
import unittest

import numpy

from support import InFolder, envoi, signal

CASES = pathlib.Path(os.environ.get("ENVOI_CASES") or pathlib.Path(__file__).resolve().parents[3] / "shared/cases")


def write_edf(path, samples, rate, annotations):
    """EDF+ of one channel, Cz in uV, with annotations (onset, text); a data record a second."""
    seconds = len(samples) // rate

    def fields(width, *texts):
        return "".join(str(text).ljust(width) for text in texts).encode()

    header = fields(8, 0) + fields(80, "X X X X", "Startdate 31-JAN-2026 X X X") + fields(8, "31.01.26", "22.10.05", 768)
    header += fields(44, "EDF+C") + fields(8, seconds, 1) + fields(4, 2) + fields(16, "Cz", "EDF Annotations")
    header += fields(80, "", "") + fields(8, "uV", "", -100, -1, 100, 1, -32768, -32768, 32767, 32767)
    header += fields(80, "", "") + fields(8, rate, 100) + fields(32, "", "")
    digital = numpy.round((samples + 100) / 200 * 65535 - 32768).astype("<i2")
    with open(path, "wb") as file:
        file.write(header)
        for i in range(seconds):
            lists = f"+{i}\x14\x14\0" + "".join(f"+{o}\x14{text}\x14\0" for o, text in annotations if int(o) == i)
            file.write(digital[i * rate : (i + 1) * rate].tobytes() + lists.encode().ljust(200, b"\0"))
    return path


class Annotate(InFolder):
    def test_rules_and_files(self):
        path = write_edf(self.folder / "in.edf", signal(2048), 256, [])
        out = self.folder / "{name}.txt"
        done = envoi("analyze", path, "--window", "whole", "-n", 2, "--detrend", "linear", "--annotate", "low: 8-16 Hz",
                     "--annotate", "high: 20-30 Hz, peak > 1 uV", "--annotations", out, "-o", self.folder / "r.json")
        self.assertEqual((done.returncode, done.stderr.count(b"annotations\n")), (0, done.stderr.count(b"\n")))
        rows = [line.split("\t") for line in (self.folder / "in.txt").read_text().splitlines()]
        self.assertEqual([row[2] for row in rows], ["low", "high"])
        atoms = json.loads((self.folder / "r.json").read_text())["segments"][0]["atoms"]
        for row, atom in zip(rows, sorted(atoms, key=lambda a: a["time_s"])):
            width = 2 * numpy.sqrt(2 * numpy.log(2)) * atom["duration_s"]
            self.assertAlmostEqual(float(row[0]), atom["time_s"] - width / 2, delta=1e-6)
            self.assertAlmostEqual(float(row[1]), atom["time_s"] + width / 2, delta=1e-6)

    def test_refusals_come_before_the_work_and_leave_no_file(self):
        path = write_edf(self.folder / "in.edf", signal(512), 256, [])
        start = ["analyze", path, "-n", 1]
        rule = ["--annotate", "x: 1-2 Hz"]
        for words, expected in (
            (rule, ["--annotations FILE"]),
            (["--annotations", "a.edf"], ["--annotate"]),
            ([*rule, "--annotations", "a.doc"], ["a.doc", ".edf, .tsv or .txt"]),
            ([*rule, "--annotations", "in.edf"], ["in.edf", "input"]),
            ([*rule, "--annotations", "a.edf", "--annotations", "a.edf"], ["twice"]),
            (["--annotate", "x: 1 Hz", "--annotations", "a.edf"], ["rule 'x: 1 Hz'"]),
            (["--annotate", "x: peak > 1 T", "--annotations", "a.edf"], ["in.edf", "uV", "T"]),
            (["--annotate", "x: peak > 1", "--annotations", "a.edf"], ["in.edf", "uV"]),
        ):
            with self.subTest(words=words):
                self.check_refused(envoi(*start, *words, cwd=self.folder), 2, *expected)
                self.assertEqual(self.names(), ["in.edf"])

    def test_spindles_are_the_same_at_every_rate(self):
        path = CASES / "eeg/n2_spindles_200Hz.txt"
        if not path.exists():
            self.skipTest(f"{path.name} is not here; set ENVOI_CASES")
        found = {}
        for rate in (None, 100, 400):
            out = self.folder / f"{rate}.tsv"
            # The file does not tell its unit, so the peak is given as its numbers are.
            done = envoi("analyze", path, "--rate", 200, "--band", "0.5:40", "--window", "whole", "--atoms", 15,
                         *(["--resample", rate] if rate else []),
                         "--annotate", "spindle: 11-16 Hz, 0.5-2 s, peak > 10", "--annotations", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = [line.split("\t") for line in out.read_text().splitlines()[1:]]
            found[rate] = [float(row[0]) + float(row[1]) / 2 for row in rows]
        for rate, centres in found.items():
            self.assertEqual(len(centres), 2, rate)
            for centre, expected in zip(centres, (3.678, 13.440)):
                self.assertAlmostEqual(centre, expected, delta=0.02, msg=rate)


class Events(InFolder):
    def setUp(self):
        super().setUp()
        self.events = [(0.25, "stim"), (1.5, "stim"), (3.125, "rest"), (5.0625, "stim")]
        self.input = write_edf(self.folder / "in.edf", signal(2048), 256, self.events)

    def test_a_segment_an_event(self):
        result = self.folder / "r.json"
        words = ["analyze", self.input, "-n", 1, "--events", "stim", "--before", 0.5, "--after", 1]
        done = envoi(*words, "-o", result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"1 of 3", done.stderr)
        document = json.loads(result.read_text())
        self.assertEqual([s["start_s"] for s in document["segments"]], [1, 4.5625])
        self.assertEqual({s["samples"] for s in document["segments"]}, {384})
        self.assertEqual(document["parameters"]["events"], {"text": "stim", "before_s": 0.5, "after_s": 1})
        again = envoi("analyze", self.input, "--like", result, "--json")
        self.assertEqual(again.stdout, result.read_bytes(), again.stderr)
        # Another file has its own events, and the line can ask for windows again.
        other = write_edf(self.folder / "other.edf", signal(2048), 256, [(2, "stim")])
        starts = json.loads(envoi("analyze", other, "--like", result, "--json").stdout)["segments"]
        self.assertEqual([s["start_s"] for s in starts], [1.5])
        windows = json.loads(envoi("analyze", other, "--like", result, "--window", 4, "--json").stdout)
        self.assertEqual([s["start_s"] for s in windows["segments"]], [0, 4])
        self.assertNotIn("events", windows["parameters"])

    def test_pattern_and_refusal(self):
        done = envoi("analyze", self.input, "-n", 1, "--events", "*st*", "--after", 0.5, "--json")
        self.assertEqual(len(json.loads(done.stdout)["segments"]), 4)
        self.check_refused(envoi("analyze", self.input, "--events", "blink", "--after", 1), 3, "in.edf", "'blink'",
                           "stim (3), rest")
        plan = envoi("analyze", self.input, "--events", "stim", "--before", 0.5, "--after", 1, "--plan")
        self.assertIn("1.5 s", plan.stdout.decode())


if __name__ == "__main__":
    unittest.main()
