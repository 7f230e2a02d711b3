"""Anyone can rebuild the signal from the result file alone; the reported SNR comes out again."""

import json
import unittest

import numpy

from support import InFolder, envoi, signal, write_text


def rebuilt(segment, rate):
    """A segment's samples, from the file's description of them and nothing else."""
    t = segment["start_s"] + numpy.arange(segment["samples"]) / rate
    x = segment["mean"] + segment["slope_per_s"] * (t - segment["start_s"])
    trend = x.copy()
    for a in segment["atoms"]:
        u = t - a["time_s"]
        atom = a["amplitude"] * numpy.exp(-(u**2) / (2 * a["duration_s"] ** 2)) * numpy.cos(
            2 * numpy.pi * (a["frequency_hz"] * u + a["chirp_rate_hz_per_s"] * u**2 / 2) + a["phase_rad"]
        )
        x += numpy.where(numpy.abs(u) <= 6 * a["duration_s"], atom, 0)
    return t, x, trend


class Reconstruct(InFolder):
    def check(self, columns, rate, *options):
        path = write_text(self.folder / "in.txt", *columns)
        result_path = self.folder / "out.json"
        done = envoi("analyze", path, "--rate", rate, "-o", result_path, *options)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        result = json.loads(result_path.read_text())
        self.assertEqual(len(result["channels"]), len(columns))
        atoms = 0
        for segment in result["segments"]:
            original = columns[segment["channel"]]
            t, model, trend = rebuilt(segment, rate)
            first = round(segment["start_s"] * rate)
            x = original[first : first + segment["samples"]]
            energy = numpy.sum((x - trend) ** 2)
            self.assertAlmostEqual(energy / segment["energy"], 1, delta=1e-9)
            snr = 10 * numpy.log10(energy / numpy.sum((x - model) ** 2))
            if segment["atoms"]:
                self.assertAlmostEqual(snr, segment["snr_db"], delta=1e-6)
            atoms += len(segment["atoms"])
        self.assertGreater(atoms, 0)
        return result, result_path

    def test_whole_file(self):
        self.check([signal()], 256, "--atoms", 6)

    def test_methods_and_trends(self):
        for method in ("mp", "omp", "joint"):
            for detrend in ("mean", "linear", "none"):
                with self.subTest(method=method, detrend=detrend):
                    self.check([signal(256)], 256, "--atoms", 3, "--method", method, "--detrend", detrend)

    def test_channels_and_overlapping_windows(self):
        columns = [signal(2000, 256, seed) for seed in (1, 2)]
        result, path = self.check(
            columns, 256, "--window", 2, "--hop", 0.5, "--atoms", 3, "--detrend", "linear", "--band", "1:60"
        )
        self.assertIn('"kept": false', path.read_text())

        # The command's own reconstruction: trend of the window whose central hop a sample is in, kept atoms of all.
        out = self.folder / "out.npy"
        done = envoi("reconstruct", path, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        model = numpy.load(out)
        expected = numpy.zeros_like(model)
        for channel in range(2):
            segments = [s for s in result["segments"] if s["channel"] == channel]
            for i, segment in enumerate(segments):
                first = round(segment["start_s"] * 256)
                end = first + segment["samples"]
                kept = {**segment, "atoms": [a for a in segment["atoms"] if a.get("kept", True)]}
                _, x, trend = rebuilt(kept, 256)
                expected[first:end, channel] += x - trend
                low = 0 if i == 0 else first + (512 - 128) // 2
                high = end if i + 1 == len(segments) else first + (512 + 128) // 2
                expected[low:high, channel] += trend[low - first : high - first]
        self.assertLess(numpy.max(numpy.abs(model - expected)), 1e-9)

    def test_text_and_wav_agree_with_npy(self):
        _, path = self.check([signal()], 256, "--atoms", 4)
        outs = [self.folder / name for name in ("a.npy", "a.txt", "a.wav")]
        done = envoi("reconstruct", path, *[word for out in outs for word in ("-o", out)])
        self.assertEqual(done.returncode, 0, done.stderr)
        model = numpy.load(outs[0])
        self.assertTrue(numpy.array_equal(model, numpy.loadtxt(outs[1])))
        by_pipe = envoi("reconstruct", "-", stdin=path.read_bytes())
        self.assertTrue(numpy.array_equal(model, numpy.array(by_pipe.stdout.split(), dtype=float)))
        self.assertEqual(outs[2].read_bytes()[:4], b"RIFF")

    def test_synth_truth_is_the_signal_without_its_noise(self):
        out = self.folder / "s.npy"
        self.assertEqual(envoi("synth", "-o", out, "--seed", 5, "--snr", 12, "-n", 3).returncode, 0)
        self.assertEqual(self.names(), ["s.npy", "s.truth.json"])
        truth = json.loads((self.folder / "s.truth.json").read_text())["segments"][0]
        x = numpy.load(out)
        _, clean, _ = rebuilt(truth, 256)
        self.assertAlmostEqual(10 * numpy.log10(numpy.sum(clean**2) / numpy.sum((x - clean) ** 2)), 12, delta=1e-6)
        again = self.folder / "again.npy"
        envoi("synth", "-o", again, "--seed", 5, "--snr", 12, "-n", 3)
        self.assertEqual(out.read_bytes(), again.read_bytes())

    def test_bad_results(self):
        (self.folder / "bad.json").write_text('{"format": "envoi.decomposition", "version": 1, "segments": [}')
        for name in ("bad.json", "none.json"):
            self.check_refused(envoi("reconstruct", self.folder / name, "-o", self.folder / "x.npy"), 3, name)
        self.check_refused(envoi("reconstruct", self.folder / "bad.json", "-o", self.folder / "x.mp3"), 2, ".npy")
        self.assertEqual(self.names(), ["bad.json"])


if __name__ == "__main__":
    unittest.main()
