"""What the command says beside its results, and what a result says of events."""

import json
import unittest

import numpy

from support import FAST, InFolder, envoi, signal, write_text
from test_conditioning import columns


def edf(path, samples, rate=128, events=(), start="02.03.04", channels=1, digital=(-32768, 32767)):
    """EDF+ with a channel many times over, and events as (onset, text)."""
    seconds = len(samples) // rate
    top = float(numpy.max(numpy.abs(samples))) + 1
    low, high = digital
    digits = numpy.round((numpy.asarray(samples) + top) / (2 * top) * (high - low) + low).astype("<i2")
    width = 120

    def fields(size, *values):
        return "".join(f"{value!s:<{size}}" for value in values)

    labels = [f"EEG C{i + 1}" for i in range(channels)] + ["EDF Annotations"]
    n = len(labels)
    head = fields(8, "0") + fields(80, "X X X X", "Startdate X X X X") + fields(8, start, "00.00.00", 256 * (n + 1))
    head += fields(44, "EDF+C") + fields(8, seconds, 1) + fields(4, n) + fields(16, *labels) + " " * 80 * n
    head += fields(8, *["uV"] * channels, "", *[f"{-top:.5f}"[:8]] * channels, -1, *[f"{top:.5f}"[:8]] * channels, 1)
    head += fields(8, *[low] * channels, -32768, *[high] * channels, 32767) + " " * 80 * n
    head += fields(8, *[rate] * channels, width // 2) + " " * 32 * n
    body = b""
    for k in range(seconds):
        notes = f"+{k}\x14\x14\0" + "".join(f"+{t:g}\x14{text}\x14\0" for t, text in events if k <= t < k + 1)
        body += digits[k * rate : (k + 1) * rate].tobytes() * channels + notes.encode().ljust(width, b"\0")
    path.write_bytes(head.encode("latin-1") + body)
    return path


QUICK = ["--atoms", 2, "--band", "4:40", "--durations", "0.03:0.1", "--max-loss", "0.3"]


class Told(InFolder):
    def run_well(self, *words):
        done = envoi(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.decode()

    def test_windows_name_their_events(self):
        path = edf(self.folder / "e.edf", signal(1280, 128), events=[(0.1, "go"), (2, "go left"), (2.5, "stop"), (5.5, "go")])
        told = self.run_well("analyze", path, "--events", "go*", "--before", 0.5, "--after", 1, *QUICK, "-o",
                             self.folder / "e.json", "-o", self.folder / "e.ndjson")  # fmt: skip
        self.assertIn("1 of 3 windows", told)
        self.assertIn("0.1 s", told)
        segments = json.loads((self.folder / "e.json").read_text())["segments"]
        events = [s["event"] for s in segments]
        self.assertEqual(events, [{"text": "go left", "time_s": 2}, {"text": "go", "time_s": 5.5}])
        self.run_well("convert", self.folder / "e.ndjson", self.folder / "back.json")
        self.assertEqual((self.folder / "back.json").read_bytes(), (self.folder / "e.json").read_bytes())
        self.run_well("analyze", path, "--window", 2, *QUICK, "-o", self.folder / "w.json")
        self.assertNotIn('"event"', (self.folder / "w.json").read_text())

    def test_resume_says_so(self):
        path = write_text(self.folder / "x.txt", signal(1024))
        words = ["analyze", path, *FAST, "--resume", "-o", self.folder / "o.json"]
        first = self.run_well(*words)
        self.assertNotIn("continuing", first)
        # A run that could not write its outputs leaves its parts.
        (self.folder / "gone").mkdir()
        broken = ["analyze", path, *FAST, "--resume", "-o", self.folder / "p.json", "-o", self.folder / "gone/q.act.json"]
        self.assertNotEqual(envoi(*broken).returncode, 0)  # its atoms have phases
        again = envoi(*broken).stderr.decode()
        self.assertIn("continuing from", again)
        self.assertIn("p.json.partial: 4 parts are done", again)
        self.assertNotIn("continuing", envoi(*broken, "-q").stderr.decode())

    def test_folder_is_made(self):
        path = write_text(self.folder / "x.txt", signal())
        self.run_well("analyze", path, *FAST, "-o", f"{self.folder}/deep/results/")
        self.assertTrue((self.folder / "deep/results/x.json").is_file())
        (self.folder / "file").write_text("")
        self.check_refused(envoi("analyze", path, *FAST, "-o", f"{self.folder}/file/"), 3, "file/")

    def test_annotations_come_along(self):
        path = edf(self.folder / "e.edf", signal(1280, 128), events=[(2, "lights out"), (5, "spike")], start="01.01.85")
        self.assertEqual(self.run_well("analyze", path, "--window", 2, *QUICK, "-o", self.folder / "e.json"), "")
        for more in (["--residual"], []):
            self.run_well("reconstruct", self.folder / "e.json", "--signal", path, *more, "-o", self.folder / "r.edf")
            told = self.run_well("analyze", self.folder / "r.edf", "--events", "spike", "--after", 1, *QUICK, "-o",
                                 self.folder / "s.json")  # fmt: skip
            self.assertEqual(told, "")  # nothing about a start that Envoi itself does not know
            self.assertEqual(json.loads((self.folder / "s.json").read_text())["segments"][0]["start_s"], 5)
            self.assertIn(b"lights out", (self.folder / "r.edf").read_bytes())

    def test_annotations_are_counted(self):
        path = write_text(self.folder / "x.txt", signal())
        words = ["analyze", path, *FAST, "--annotate", "all: 4-40 Hz", "--annotations", self.folder / "a.tsv"]
        self.assertIn("a.tsv: 4 annotations", self.run_well(*words))
        self.assertEqual(self.run_well(*words, "-q"), "")

    def test_warnings_are_told_once(self):
        path = edf(self.folder / "e.edf", signal(1152, 128), channels=3)
        told = self.run_well("analyze", path, "--window", 4, *QUICK, "-o", self.folder / "e.json")
        self.assertEqual(told.count("not analysed"), 1, told)
        self.assertIn("channels EEG C1, EEG C2, EEG C3: the last 128 samples", told)
        odd = edf(self.folder / "odd.edf", signal(1280, 128), channels=3, digital=(32767, -32768))
        told = self.run_well("analyze", odd, "-c", 2, "--window", 2, *QUICK, "-o", self.folder / "o.json")
        self.assertIn("'EEG C2': digital minimum above maximum", told)
        self.assertNotIn("EEG C1", told)

    def test_words(self):
        path = columns(self.folder / "x.txt", a=signal(), b=signal(seed=1))
        self.run_well("analyze", path, *FAST, "-o", self.folder / "x.json")
        refused = envoi("convert", self.folder / "x.json", self.folder / "x.act.json").stderr.decode()
        self.assertIn("2 channels", refused)
        self.assertNotIn("--channels", refused)
        refused = envoi("analyze", path, self.folder / "x.json", *FAST, "--report", self.folder / "r.html").stderr.decode()
        self.assertIn("{name}", refused)
        self.assertNotIn(".tsv", refused)
        self.check_refused(envoi("analyze", path, *FAST, "--shard", "/100"), 2, "/100", "counts from 1")
        told = self.run_well("analyze", path, "--rate", 256, "-c", "a", "--window", "whole", "-n", 1, "-v", "-o",
                             self.folder / "v.json")  # fmt: skip
        self.assertIn("1 channel, 1 segment, 1 atom in", told)


if __name__ == "__main__":
    unittest.main()
