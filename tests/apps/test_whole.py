"""Recordings taken apart without windows, and channels taken apart together, from the command line."""

import json
import unittest

import numpy

from support import InFolder, envoi, signal


class Whole(InFolder):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(1)
        self.input = self.folder / "in.npy"
        samples = rng.normal(size=(256 * 24, 3))
        t = numpy.arange(len(samples)) / 256
        samples += 6 * numpy.exp(-((t - 7.1) ** 2) / (2 * 0.08**2) * 1)[:, None] * numpy.cos(
            2 * numpy.pi * 14 * (t[:, None] - 7.1) + numpy.array([0, 1, 2])
        )
        numpy.save(self.input, samples)
        self.whole = ["analyze", self.input, "--rate", 256, "--whole", "--band", "4:40", "--durations", "30m:100m"]

    def test_one_segment_a_channel_and_the_same_bytes_for_any_number_of_threads(self):
        first = envoi(*self.whole, "--density", 2, "--json", "--threads", 1)
        self.assertEqual(first.returncode, 0, first.stderr)
        result = json.loads(first.stdout)
        self.assertEqual([s["channel"] for s in result["segments"]], [0, 1, 2])
        self.assertEqual({s["stop_reason"] for s in result["segments"]}, {"density"})
        self.assertTrue(result["parameters"]["whole_signal"])
        self.assertEqual(result["parameters"]["stop"]["density_per_s"], 2)
        for segment in result["segments"]:
            left = [atom["energy_left_share"] for atom in segment["atoms"]]
            self.assertEqual(left, sorted(left, reverse=True))
            self.assertAlmostEqual(segment["atoms"][0]["time_s"], 7.1, delta=0.01)
        for threads in (2, 5):
            self.assertEqual(envoi(*self.whole, "--density", 2, "--json", "--threads", threads).stdout, first.stdout)

    def test_it_rebuilds_to_the_snr_it_says(self):
        out = self.folder / "r.json"
        self.assertEqual(envoi(*self.whole, "--density", 3, "-o", out).returncode, 0)
        self.assertEqual(envoi("reconstruct", out, "-o", self.folder / "m.npy").returncode, 0)
        model, samples = numpy.load(self.folder / "m.npy"), numpy.load(self.input)
        for segment in json.loads(out.read_text())["segments"]:
            c = segment["channel"]
            energy = ((samples[:, c] - segment["mean"]) ** 2).sum()
            rest = ((samples[:, c] - model[:, c]) ** 2).sum()
            self.assertAlmostEqual(10 * numpy.log10(energy / rest), segment["snr_db"], delta=1e-6)

    def test_like_repeats_it(self):
        for extra in (["--density", 2], ["--threshold", 60], ["--noise", 0.01, "--method", "omp"], []):
            want = envoi(*self.whole, *extra, "-c", 1, "--json")
            self.assertEqual(want.returncode, 0, want.stderr)
            (self.folder / "w.json").write_bytes(want.stdout)
            got = envoi("analyze", self.input, "--like", self.folder / "w.json", "--json")
            self.assertEqual(got.stdout, want.stdout, got.stderr)

    def test_threshold_keeps_what_has_the_energy(self):
        result = json.loads(envoi(*self.whole, "--threshold", 60, "--json").stdout)
        for segment in result["segments"]:
            self.assertEqual(segment["stop_reason"], "threshold")
            self.assertGreaterEqual(len(segment["atoms"]), 1)
            self.assertTrue(all(atom["energy"] >= 60 * (1 - 1e-9) for atom in segment["atoms"]))

    def test_a_plan_without_a_run(self):
        done = envoi(*self.whole, "--plan")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"whole signal", done.stdout)
        self.assertIn(b"atoms a second", done.stdout)

    def test_options_that_do_not_go_together(self):
        for extra, word in (
            (["--window", 2], b"--window"),
            (["--atoms", 3], b"--density"),
            (["--snr", 3], b"--density"),
            (["--grid", "act"], b"--grid"),
            (["--across", "joint"], b"--across"),
            (["--density", 0], b"--density"),
            (["--threshold", -1], b"--threshold"),
        ):
            done = envoi(*self.whole, *extra)
            self.assertEqual(done.returncode, 2, extra)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertEqual(envoi("analyze", self.input, "--rate", 256, "--density", 2).returncode, 2)


class Across(InFolder):
    def test_channels_share_their_atoms(self):
        rng = numpy.random.default_rng(2)
        path = self.folder / "in.npy"
        numpy.save(path, rng.normal(size=(512, 4)) + numpy.asarray(signal(512))[:, None] * [1, -1, 2, 0.5])
        for word in ("joint", "joint-phase"):
            done = envoi("analyze", path, "--rate", 256, "--across", word, "-n", 3, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual(result["parameters"]["across"], word)
            segments = result["segments"]
            self.assertEqual(len(segments), 4)
            for atoms in zip(*(s["atoms"] for s in segments)):
                for key in ("time_s", "frequency_hz", "duration_s", "chirp_rate_hz_per_s"):
                    self.assertEqual(len({atom[key] for atom in atoms}), 1)
                if word == "joint-phase":
                    turns = [(atom["phase_rad"] - atoms[0]["phase_rad"]) / numpy.pi for atom in atoms]
                    self.assertTrue(all(abs(t - round(t)) < 1e-6 for t in turns))
            (self.folder / "a.json").write_bytes(done.stdout)
            again = envoi("analyze", path, "--like", self.folder / "a.json", "--json")
            self.assertEqual(again.stdout, done.stdout, again.stderr)

    def test_channels_of_several_rates_are_refused(self):
        done = envoi("analyze", self.folder / "missing.edf", "--across", "sideways")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"joint-phase", done.stderr)


class Unit(InFolder):
    def test_a_unit_for_what_has_none(self):
        path = self.folder / "in.npy"
        numpy.save(path, numpy.asarray(signal(512)))
        done = envoi("analyze", path, "--rate", 256, "--unit", "uV", "-n", 1, "--json")
        self.assertEqual(json.loads(done.stdout)["channels"][0]["unit"], "uV")
        edf = self.folder / "in.edf"
        (self.folder / "r.json").write_bytes(done.stdout)
        self.assertEqual(envoi("reconstruct", self.folder / "r.json", "-o", edf).returncode, 0)
        done = envoi("analyze", edf, "--unit", "V", "-n", 1)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--unit", done.stderr)


if __name__ == "__main__":
    unittest.main()
