"""Results between formats: what another program reads in them is what was found, and nothing is lost in silence."""

import json
import math
import os
import pathlib
import sqlite3
import unittest

import numpy

from support import InFolder, envoi, signal, write_text

CASES = pathlib.Path(os.environ.get("ENVOI_CASES") or pathlib.Path(__file__).resolve().parents[3] / "shared/cases")


def rows(path, query):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as book:
        return book.execute(query).fetchall()


class Convert(InFolder):
    def result(self, *options, columns=2):
        path = write_text(self.folder / "in.txt", *[signal(1024, 256, seed) for seed in range(columns)])
        out = self.folder / "a.json"
        done = envoi("analyze", path, "--rate", 256, "--window", 2, "--atoms", 3, "--quiet", "-o", out, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def convert(self, source, *outs):
        done = envoi("convert", source, *outs)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_a_book_says_what_was_found(self):
        found = json.loads(self.result("-o", self.folder / "b.db").read_text())
        atoms = rows(
            self.folder / "b.db",
            "SELECT channel_id, segment_id, iteration, amplitude, energy, envelope, f_Hz, phase, scale_s, t0_s, t0_abs_s, "
            "chirp_Hz_per_s FROM atoms ORDER BY 1, 2, 3",
        )
        expected = [
            (s["channel"], s["start_s"], i, a) for s in found["segments"] for i, a in enumerate(s["atoms"])
        ]
        self.assertEqual(len(atoms), len(expected))
        offsets = dict(rows(self.folder / "b.db", "SELECT segment_id, segment_offset_s FROM segments"))
        for row, (channel, start, iteration, atom) in zip(atoms, expected):
            self.assertEqual((row[0], offsets[row[1]], row[2], row[5]), (channel, start, iteration, "gauss"))
            self.assertEqual((row[3], row[6], row[7]), (atom["amplitude"], atom["frequency_hz"], atom["phase_rad"]))
            self.assertEqual((row[10], row[11]), (atom["time_s"], atom["chirp_rate_hz_per_s"]))
            self.assertAlmostEqual(row[4] * 256 / atom["energy"], 1, delta=1e-14)
            self.assertAlmostEqual(row[8] / atom["duration_s"], math.sqrt(2 * math.pi), delta=1e-14)
            self.assertAlmostEqual(row[9], atom["time_s"] - start, delta=1e-12)
        self.assertEqual(dict(rows(self.folder / "b.db", "SELECT * FROM metadata"))["sampling_frequency_Hz"], "256.0")
        # `analyze` has the samples at hand, `convert` is given them.
        blob = rows(self.folder / "b.db", "SELECT samples_float32 FROM samples WHERE channel_id = 1 AND segment_id = 1")
        samples = numpy.frombuffer(blob[0][0], ">f4")
        self.assertTrue(numpy.array_equal(samples, signal(1024, 256, 1)[512:].astype("f4")))
        done = envoi("convert", self.folder / "a.json", self.folder / "c.db", "--signal", self.folder / "in.txt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "c.db").read_bytes(), (self.folder / "b.db").read_bytes())

    def test_ways_round_end_where_they_began(self):
        source = self.result("--hop", 1)
        self.convert(source, self.folder / "b.db", self.folder / "b.ndjson", self.folder / "b.tsv")
        self.convert(self.folder / "b.ndjson", self.folder / "c.json", self.folder / "c.book")
        self.assertEqual((self.folder / "c.json").read_bytes(), source.read_bytes())
        self.assertEqual((self.folder / "c.book").read_bytes(), (self.folder / "b.db").read_bytes())
        self.convert(self.folder / "b.db", self.folder / "d.json")
        a, d = (json.loads(path.read_text()) for path in (source, self.folder / "d.json"))
        self.assertEqual(a["parameters"], d["parameters"])
        self.assertEqual([s["snr_db"] for s in a["segments"]], [s["snr_db"] for s in d["segments"]])
        models = []
        for path in (source, self.folder / "b.db"):
            done = envoi("reconstruct", path, "-o", self.folder / "m.npy")
            self.assertEqual(done.returncode, 0, done.stderr)
            models.append(numpy.load(self.folder / "m.npy"))
        self.assertLess(numpy.nanmax(numpy.abs(models[0] - models[1])), 1e-9)
        by_pipe = envoi("convert", "-", "-", stdin=(self.folder / "b.db").read_bytes())
        self.assertEqual(by_pipe.stdout, (self.folder / "d.json").read_bytes())

    def test_act_json_holds_real_atoms_and_refuses_phases(self):
        source = self.result(columns=1)
        done = envoi("convert", source, self.folder / "x.act.json")
        self.check_refused(done, 2, "x.act.json", "phase", "--phase fixed")
        source = self.result("--phase", "fixed", columns=1)
        self.convert(source, self.folder / "x.act.json")
        act, found = (json.loads(path.read_text()) for path in (self.folder / "x.act.json", source))
        atoms = [(s, a) for s in found["segments"] for a in s["atoms"]]
        self.assertEqual(len(act["result"]["chirplets"]), len(atoms))
        for theirs, (segment, atom) in zip(act["result"]["chirplets"], atoms):
            # Their formula: a real atom of unit energy over its window.
            start = round(segment["start_s"] * 256)
            t = (start + numpy.arange(512) - theirs["time_center_samples"]) / 256
            duration = theirs["duration_ms"] / 1000
            g = numpy.exp(-0.5 * (t / duration) ** 2) * numpy.cos(
                2 * numpy.pi * (theirs["chirp_rate_hz_per_s"] * t**2 + theirs["frequency_hz"] * t)
            )
            g *= theirs["coefficient"] / numpy.linalg.norm(g)
            u = segment["start_s"] + numpy.arange(512) / 256 - atom["time_s"]
            ours = atom["amplitude"] * numpy.exp(-0.5 * (u / atom["duration_s"]) ** 2) * numpy.cos(
                2 * numpy.pi * (atom["frequency_hz"] * u + atom["chirp_rate_hz_per_s"] * u**2 / 2) + atom["phase_rad"]
            )
            self.assertLess(numpy.max(numpy.abs(g - ours)), 1e-6)

    def test_what_is_bad_is_refused_in_one_line(self):
        source = self.result()
        self.convert(source, self.folder / "b.ndjson", self.folder / "b.db", self.folder / "b.tsv")
        whole = (self.folder / "b.ndjson").read_bytes()
        (self.folder / "cut.ndjson").write_bytes(whole[: len(whole) - 200])
        (self.folder / "cut.db").write_bytes((self.folder / "b.db").read_bytes()[:9000])
        (self.folder / "fake.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
        before = self.names()
        lines = whole.count(b"\n")
        for name, code, words in (
            ("cut.ndjson", 3, (f"line {lines}", "cut off")),
            ("cut.db", 3, ("damaged or cut off",)),
            ("fake.db", 3, ("fake.db",)),
            ("b.tsv", 3, ("b.tsv", ".json")),
            ("none.db", 3, ("none.db",)),
        ):
            self.check_refused(envoi("convert", self.folder / name, self.folder / "out.json"), code, *words)
        self.check_refused(envoi("convert", source, self.folder / "out.xml"), 2, ".db")
        self.check_refused(envoi("convert", source, source), 2, "input")
        other = write_text(self.folder / "other.txt", signal(1024, 256, 9))
        done = envoi("convert", source, self.folder / "out.db", "--signal", other)
        self.check_refused(done, 3, "not the file that was analysed", "--force")
        other.unlink()
        self.assertEqual(self.names(), before)


class Book(InFolder):
    """The book that another program made of a signal of known atoms."""

    def setUp(self):
        super().setUp()
        self.book = CASES / "books/gabors_smp.db"
        self.signal = CASES / "books/gabors_5ch_512Hz_f32.bin"
        for path in (self.book, self.signal):
            if not path.exists():
                self.skipTest(f"{path.name} is not here, set ENVOI_CASES")

    def test_the_same_atoms_are_found(self):
        out = self.folder / "g.db"
        done = envoi(
            "analyze", self.signal, "--format", "f32", "--rate", 512, "--raw-channels", 5, "--gabor",
            "--window", "whole", "--durations", "0.1:4", "--band", "0.5:40", "--atoms", 1, "-o", out,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        query = "SELECT channel_id, f_Hz, t0_abs_s, scale_s, energy, amplitude, phase FROM atoms ORDER BY channel_id"
        x = numpy.fromfile(self.signal, "<f4").reshape(-1, 5).astype(float)

        def taken(row):
            """The energy that subtracting the atom takes from its channel, over the rate as in books."""
            channel, frequency, time, scale, _, amplitude, phase = row
            u = numpy.arange(len(x)) / 512 - time
            atom = amplitude * numpy.exp(-numpy.pi * (u / scale) ** 2) * numpy.cos(2 * numpy.pi * frequency * u + phase)
            return (numpy.sum(x[:, channel] ** 2) - numpy.sum((x[:, channel] - atom) ** 2)) / 512

        theirs, ours = rows(self.book, query), rows(out, query)
        self.assertEqual([row[0] for row in ours], list(range(5)))
        for them, us in zip(theirs, ours):
            self.assertAlmostEqual(us[1], them[1], delta=0.001)
            self.assertAlmostEqual(us[2], them[2], delta=0.005)
            self.assertAlmostEqual(us[3] / them[3], 1, delta=0.01)
            self.assertGreaterEqual(taken(us), taken(them))
            # What a book says of its atom's energy is as exact as its amplitude.
            self.assertAlmostEqual(us[4] / them[4], 1, delta=1e-6)

    def test_it_is_read_and_written_again(self):
        done = envoi("convert", self.book, self.folder / "a.db", self.folder / "a.json")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        query = "SELECT channel_id, amplitude, f_Hz, phase, t0_s, t0_abs_s, scale_s, energy FROM atoms ORDER BY channel_id"
        for theirs, ours in zip(rows(self.book, query), rows(self.folder / "a.db", query)):
            self.assertEqual(theirs[:6], ours[:6])
            self.assertLess(abs(theirs[6] / ours[6] - 1) + abs(theirs[7] / ours[7] - 1), 1e-14)
        done = envoi("reconstruct", self.book, "-o", self.folder / "m.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        rest = numpy.fromfile(self.signal, "<f4").reshape(-1, 5) - numpy.load(self.folder / "m.npy")
        self.assertTrue(numpy.all(numpy.abs(numpy.std(rest, axis=0) - 0.1) < 0.003), numpy.std(rest, axis=0))


if __name__ == "__main__":
    unittest.main()
