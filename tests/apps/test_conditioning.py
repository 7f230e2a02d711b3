"""Filters, references and another rate on the way to an analysis; windows about events."""

import json
import unittest

import numpy

from support import InFolder, envoi, signal, write_text


def columns(path, **channels):
    rows = zip(*(map(repr, map(float, samples)) for samples in channels.values()))
    path.write_text("\n".join("\t".join(row) for row in [tuple(channels), *rows]) + "\n")
    return path


class Conditioning(InFolder):
    def analyze(self, *arguments):
        done = envoi("analyze", *arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_hum_and_drift_go_and_the_atom_stays(self):
        t = numpy.arange(2048) / 256
        atom = numpy.exp(-((t - 4) ** 2) / (2 * 0.3**2)) * numpy.cos(2 * numpy.pi * 12 * (t - 4))
        dirty = write_text(self.folder / "x.txt", atom + 20 * numpy.sin(2 * numpy.pi * 50 * t) + 30 * numpy.sin(0.8 * t))
        options = [dirty, "--rate", 256, "--window", "whole", "--atoms", 1, "--band", "5:40"]
        first = self.analyze(*options)["segments"][0]["atoms"][0]
        self.assertGreater(abs(first["frequency_hz"] - 12), 1)
        clean = self.analyze(*options, "--high-pass", 2, "--low-pass", 60, "--notch", "50,100", "--resample", 128)
        first = clean["segments"][0]["atoms"][0]
        self.assertAlmostEqual(first["frequency_hz"], 12, delta=0.02)
        self.assertAlmostEqual(first["time_s"], 4, delta=0.005)
        self.assertAlmostEqual(first["peak"], 1, delta=0.03)
        self.assertEqual(clean["rate_hz"], 128)
        self.assertEqual(
            clean["parameters"]["conditioning"],
            {"high_pass_hz": 2, "low_pass_hz": 60, "notch_hz": [50, 100], "resample_hz": 128},
        )

    def test_like_repeats_it_and_the_line_comes_first(self):
        path = columns(self.folder / "x.txt", F3=signal(1024), C3=signal(1024, seed=1), A1=signal(1024, seed=2))
        result = self.folder / "r.json"
        for words in (["--reference", "average", "--low-pass", 40], ["--reference", "A1", "--bipolar", "F3-C3,C3-A1"],
                      ["--notch", 50, "--notch", 60, "--high-pass", "500m"]):
            done = envoi("analyze", path, "--rate", 256, "-n", 2, *words, "-o", result)
            self.assertEqual(done.returncode, 0, done.stderr)
            again = envoi("analyze", path, "--like", result, "--json")
            self.assertEqual(again.stdout, result.read_bytes(), again.stderr)
        other = self.analyze(path, "--like", result, "--notch", 100)
        self.assertEqual(other["parameters"]["conditioning"], {"high_pass_hz": 0.5, "notch_hz": [100]})
        self.assertNotIn("conditioning", self.analyze(path, "--rate", 256, "-n", 1)["parameters"])

    def test_bipolar_is_the_difference(self):
        path = columns(self.folder / "x.txt", F3=signal(512), C3=signal(512, seed=1))
        difference = columns(self.folder / "d.txt", d=signal(512) - signal(512, seed=1))
        montage = self.analyze(path, "--rate", 256, "-n", 2, "--bipolar", "F3-C3")
        self.assertEqual([c["name"] for c in montage["channels"]], ["F3-C3"])
        self.assertEqual(montage["segments"], self.analyze(difference, "--rate", 256, "-n", 2)["segments"])

    def test_refusals(self):
        path = columns(self.folder / "x.txt", F3=signal(512), C3=signal(512, seed=1))
        start = ["analyze", path, "--rate", 256]
        for words, expected in (
            (["--low-pass", 128], ["x.txt", "low-pass", "128 Hz"]),
            (["--high-pass", 20, "--low-pass", 10], ["--high-pass"]),
            (["--notch", "50,"], ["--notch"]),
            (["--notch", "-3"], ["--notch"]),
            (["--resample", "0"], ["--resample"]),
            (["--reference", "A1"], ["'A1'", "F3, C3"]),
            (["--reference", ""], ["--reference", "empty"]),
            (["--notch", "50,50"], ["notch", "twice"]),
            (["--low-pass", "1e-7"], ["low-pass", "0.00256 Hz"]),
            (["--bipolar", "F3-P3"], ["F3-P3", "F3, C3"]),
            (["--before", 1], ["--events"]),
            (["--events", "x"], ["--before"]),
            (["--events", "x", "--after", 1, "--window", 2], ["--window"]),
        ):
            with self.subTest(words=words):
                self.check_refused(envoi(*start, *words), 2, *expected)
        self.check_refused(envoi(*start, "--events", "x", "--after", 1), 3, "x.txt", "'x'", "none")

    def test_plan_knows_the_new_rate(self):
        path = write_text(self.folder / "x.txt", signal(1024))
        done = envoi("analyze", path, "--rate", 256, "--resample", 64, "--plan")
        self.assertIn("64 Hz", done.stdout.decode())


if __name__ == "__main__":
    unittest.main()
