"""Conditioning sees the whole recording and all its channels; --channels and the stretch are cut out of what comes."""

import json
import unittest

import numpy

from support import InFolder, envoi, signal, write_text
from test_conditioning import columns


class Montage(InFolder):
    def setUp(self):
        super().setUp()
        self.samples = {name: signal(512, seed=i) for i, name in enumerate(("F3", "C3", "Cz", "A1", "A2", "T3"))}
        self.path = columns(self.folder / "x.txt", **self.samples)
        self.start = ["analyze", self.path, "--rate", 256, "-n", 2]

    def analyze(self, *words):
        done = envoi(*self.start, *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def of_column(self, samples):
        path = columns(self.folder / "one.txt", one=samples)
        done = envoi("analyze", path, "--rate", 256, "-n", 2, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["segments"]

    def assert_alike(self, segments, expected):
        self.assertEqual(len(segments), len(expected))
        for a, b in zip(segments, expected):
            self.assertAlmostEqual(a["energy"], b["energy"], delta=1e-9 * b["energy"])
            for atom, other in zip(a["atoms"], b["atoms"], strict=True):
                self.assertAlmostEqual(atom["frequency_hz"], other["frequency_hz"], delta=1e-6)

    def test_channels_select_after_the_reference(self):
        s = self.samples
        expected = self.of_column(s["Cz"] - (s["A1"] + s["A2"]) / 2)
        for choice in ("Cz", "3"):
            result = self.analyze("--reference", "A1,A2", "--channels", choice)
            self.assertEqual([c["name"] for c in result["channels"]], ["Cz"])
            self.assert_alike(result["segments"], expected)
        average = sum(s[name] for name in s if name != "T3") / 5
        result = self.analyze("--reference", "average", "--exclude", "T3", "--channels", "Cz,1")
        self.assertEqual([c["name"] for c in result["channels"]], ["Cz", "F3"])
        self.assert_alike([x for x in result["segments"] if x["channel"] == 1], self.of_column(s["F3"] - average))

    def test_channels_select_among_differences(self):
        for choice in ("C3-Cz", "2"):
            result = self.analyze("--bipolar", "F3-C3,C3-Cz", "--channels", choice)
            self.assertEqual([c["name"] for c in result["channels"]], ["C3-Cz"])
            self.assert_alike(result["segments"], self.of_column(self.samples["C3"] - self.samples["Cz"]))

    def test_unknown_names_are_told_with_those_of_the_file(self):
        known = "F3, C3, Cz, A1, A2, T3"
        for words, expected in (
            (["--reference", "M1", "--channels", "Cz", "--exclude", "T3"], ["no channel 'M1'", known]),
            (["--reference", "T3", "--exclude", "T3"], ["'T3'", "--exclude"]),
            (["--bipolar", "F3-XX"], ["no channel 'XX'", known]),
            (["--bipolar", "F3-C3", "--channels", "F3"], ["--bipolar", "'F3'", "F3-C3"]),
            (["--reference", "A1", "--channels", "T3", "--exclude", "T3"], ["leave no channel", known]),
            (["--reference", "A1", "--channels", "Q"], ["'Q'", known]),
        ):
            with self.subTest(words=words):
                self.check_refused(envoi(*self.start, *words), 2, *expected)

    def test_stretch_is_cut_out_of_what_was_filtered(self):
        t = numpy.arange(4096) / 256
        x = 200 * numpy.sin(2 * numpy.pi * 0.3 * t + 1) + signal(4096, seed=7)
        path = write_text(self.folder / "drift.txt", x)
        options = ["--rate", 256, "--high-pass", 2, "--window", 2, "-n", 3, "--detrend", "none"]
        result = self.folder / "whole.json"
        done = envoi("analyze", path, *options, "-o", result)
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = json.loads(result.read_text())["segments"]
        for words in ([], ["--json"]):  # group by group, and as one
            cut = self.folder / "cut.db" if not words else self.folder / "cut.json"
            done = envoi("analyze", path, *options, "--from", 4, "--to", 8, "-o", cut)
            self.assertEqual(done.returncode, 0, done.stderr)
        cut = json.loads((self.folder / "cut.json").read_text())["segments"]
        same = [x for x in whole if 4 <= x["start_s"] < 8]
        self.assertEqual(len(cut), len(same))
        for a, b in zip(cut, same):  # times are counted from another sample, so their last digits may differ
            self.assertEqual(a["start_s"], b["start_s"])
            for key in ("time_s", "frequency_hz", "amplitude", "energy"):
                for x, y in zip(a["atoms"], b["atoms"], strict=True):
                    self.assertAlmostEqual(x[key], y[key], delta=1e-9 * abs(y[key]))
        rest = envoi("reconstruct", self.folder / "cut.json", "--signal", path, "--residual", "-o", self.folder / "r.npy")
        self.assertEqual(rest.returncode, 0, rest.stderr)
        energy = sum(x["energy"] * x["energy_left_share"] for x in cut)
        self.assertAlmostEqual(numpy.sum(numpy.load(self.folder / "r.npy") ** 2), energy, delta=1e-6 * energy)
        self.check_refused(envoi("analyze", path, *options, "--from", 100), 2, "16 s")

    def test_times_of_refusals_can_be_told_apart(self):
        path = columns(self.folder / "gps.txt", time=1126259446 + numpy.arange(512) / 256, x=signal())
        self.check_refused(envoi("analyze", path, "--from", 2e9), 2, "1126259446 s to 1126259448 s")


class OtherFile(InFolder):
    """A result's rate is for files that carry none."""

    def test_rate_of_a_result_gives_way(self):
        path = write_text(self.folder / "x.txt", signal())
        result = self.folder / "r.json"
        done = envoi("analyze", path, "--rate", 256, "-n", 2, "--band", "4:40", "-o", result)
        self.assertEqual(done.returncode, 0, done.stderr)
        wav = self.folder / "x.wav"
        done = envoi("reconstruct", result, "-o", self.folder / "m.txt")
        samples = numpy.loadtxt(self.folder / "m.txt")
        other = columns(self.folder / "other.txt", time=numpy.arange(len(samples)) / 200, x=samples)
        done = envoi("analyze", other, "--like", result, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        again = json.loads(done.stdout)
        self.assertEqual(again["rate_hz"], 200)
        self.assertIsNone(again["parameters"]["input"]["rate_hz"])
        same = envoi("analyze", path, "--like", result, "--json")
        self.assertEqual(same.stdout, result.read_bytes())
        self.check_refused(envoi("analyze", other, "--like", result, "--rate", 256), 2, "--rate says 256")
        refused = envoi("reconstruct", result, "--signal", other, "--residual", "-o", wav)
        self.check_refused(refused, 3, "is not the file that was analysed")


if __name__ == "__main__":
    unittest.main()
