"""What the command's tests share: running it, and making input files."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

ENVOI = os.environ.get("ENVOI_BIN") or str(
    pathlib.Path(__file__).resolve().parents[2] / "build/release/envoi"
)


# An analysis that takes a moment.
FAST = ["--rate", "256", "--window", "1", "--atoms", "2", "--band", "4:40", "--durations", "0.03:0.1", "--max-loss", "0.3"]


def envoi(*arguments, stdin=b"", cwd=None, env=None):
    """Runs the command; gives its completed process with bytes of both streams."""
    return subprocess.run(
        [ENVOI, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        timeout=120,
        env={**os.environ, **(env or {})},
        check=False,
    )


def signal(samples=512, rate=256.0, seed=0):
    """Two chirplets in noise, off the mean."""
    t = numpy.arange(samples) / rate
    x = 3.0 + 0.4 * t + 0.3 * numpy.random.default_rng(seed).normal(size=samples)
    middle = samples / rate / 2
    for centre, frequency, duration, chirp in ((middle / 2, 12, 0.2, 9), (middle * 1.4, 25, 0.1, -20)):
        u = t - centre
        x += 2 * numpy.exp(-(u**2) / (2 * duration**2)) * numpy.cos(
            2 * numpy.pi * (frequency * u + chirp * u * u / 2) + 1
        )
    return x


def write_text(path, *columns):
    numpy.savetxt(path, numpy.column_stack(columns), fmt="%.17g")
    return path


class InFolder(unittest.TestCase):
    """A test in a temporary folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def names(self):
        return sorted(p.name for p in self.folder.iterdir())

    def check_refused(self, process, code, *words):
        """Exit code, one line on stderr that has the words, nothing on stdout."""
        message = process.stderr.decode()
        self.assertEqual(process.returncode, code, message)
        self.assertEqual(process.stdout, b"")
        self.assertEqual(message.count("\n"), 1, message)
        self.assertTrue(message.startswith("envoi: "), message)
        for word in words:
            self.assertIn(word, message)
