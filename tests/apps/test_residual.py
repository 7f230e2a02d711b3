"""Residual and reconstruction: together they are the recording that was analysed, and only of that one."""

import unittest

import numpy

from support import InFolder, envoi, signal, write_text


class Residual(InFolder):
    def setUp(self):
        super().setUp()
        self.columns = [signal(1500, 256, seed) for seed in (1, 2)]
        self.input = write_text(self.folder / "in.txt", *self.columns)

    def analyze(self, *options):
        done = envoi("analyze", self.input, "--rate", 256, "--window", 2, "--atoms", 4, "-q", "-o",
                     self.folder / "a.json", *options)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / "a.json"

    def rebuilt(self, result, name, *options):
        done = envoi("reconstruct", result, "-o", self.folder / name, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / name

    def test_they_sum_to_the_recording(self):
        for options in ((), ("--hop", 1, "--detrend", "linear"), ("--from", 1.5, "--channels", "2")):
            with self.subTest(options=options):
                result = self.analyze(*options)
                model = numpy.load(self.rebuilt(result, "model.npy"))
                rest = numpy.load(self.rebuilt(result, "rest.npy", "--signal", self.input, "--residual"))
                first = 384 if "--from" in options else 0
                for c, column in enumerate([self.columns[1]] if "--channels" in options else self.columns):
                    total = (model + rest).reshape(len(model), -1)[:, c]
                    there = ~numpy.isnan(total)
                    self.assertGreater(there.sum(), 1000)
                    error = total[there] - column[first : first + len(total)][there]
                    self.assertLess(numpy.max(numpy.abs(error)), 1e-12)

    def test_every_format_holds_it(self):
        result = self.analyze()
        residual = ("--signal", self.input, "--residual")
        rest = numpy.load(self.rebuilt(result, "r.npy", *residual))
        for name in ("r.edf", "r.bdf", "r.wav", "r.csv"):
            self.rebuilt(result, name, *residual)
        # Ours reads them all again; EDF within half a step of its range.
        for name, levels in (("r.edf", 65535), ("r.bdf", 16777215)):
            done = envoi("analyze", self.folder / name, "--window", "whole", "--atoms", 1, "-q", "-o", self.folder / "e.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            back = numpy.load(self.rebuilt(self.folder / "e.json", "m.npy"))
            back = back + numpy.load(
                self.rebuilt(self.folder / "e.json", "n.npy", "--signal", self.folder / name, "--residual")
            )
            step = numpy.nanmax(rest, axis=0) - numpy.nanmin(rest, axis=0)
            there = min(len(rest), len(back))
            error = numpy.nanmax(numpy.abs(back[:there] - rest[:there]), axis=0)
            self.assertTrue(numpy.all(error <= 0.51 * step / levels + 1e-9), (name, error, step / levels))

    def test_another_recording_is_refused(self):
        result = self.analyze()
        other = write_text(self.folder / "other.txt", *[c + 1 for c in self.columns])
        before = self.names()
        out = self.folder / "r.npy"
        done = envoi("reconstruct", result, "--signal", other, "--residual", "-o", out)
        self.check_refused(done, 3, "other.txt", "not the file that was analysed", "--force")
        self.assertEqual(self.names(), before)
        done = envoi("reconstruct", result, "--signal", other, "--residual", "--force", "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_refused(envoi("reconstruct", result, "--residual", "-o", out), 2, "--signal")
        self.check_refused(envoi("reconstruct", result, "--signal", self.input, "-o", out), 2, "--residual")
        done = envoi("reconstruct", result, "--signal", self.input, "--residual", "-o", self.input)
        self.check_refused(done, 2, "input")


if __name__ == "__main__":
    unittest.main()
