"""`envoi search`: numpy as the oracle, every kind of .npy, every bad input, and dictionaries larger than memory."""

import json
import os
import resource
import struct
import subprocess
import unittest

import numpy

from support import ENVOI, InFolder, envoi


def draw(atoms=300, samples=50, signals=4, seed=0):
    random = numpy.random.default_rng(seed)
    return random.normal(size=(atoms, samples)), random.normal(size=(signals, samples))


class Search(InFolder):
    def save(self, name, array):
        path = self.folder / name
        numpy.save(path, array)
        return path

    def search(self, dictionary, signals, *options):
        done = envoi("search", dictionary, signals, "--json", *options)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def check(self, result, atoms, signals, k, normalized=False):
        """Against numpy: the order by magnitude, and scores to rounding."""
        self.assertEqual((result["format"], result["version"]), ("envoi.search", 1))
        self.assertEqual((result["atoms"], result["samples"]), atoms.shape)
        self.assertEqual((result["normalized"], len(result["signals"])), (normalized, len(signals)))
        atoms, signals = atoms.astype(float), signals.astype(float)
        scores = signals @ atoms.T
        if normalized:
            scores /= numpy.linalg.norm(atoms, axis=1)
        for found, row in zip(result["signals"], scores):
            expected = numpy.argsort(-numpy.abs(row), kind="stable")[:k]
            self.assertEqual([b["index"] for b in found["best"]], expected.tolist())
            for best in found["best"]:
                self.assertAlmostEqual(best["score"], row[best["index"]], delta=1e-12 * numpy.abs(row).max())
            certificate = found["certificate"]
            self.assertIn(certificate["precision"], ("f32", "f64"))
            self.assertGreaterEqual(certificate["survivors"], k)

    def test_equals_numpy(self):
        atoms, signals = draw()
        d, s = self.save("d.npy", atoms), self.save("s.npy", signals)
        for k in (1, 5, 300):
            self.check(self.search(d, s, "-k", k), atoms, signals, k)
        self.check(self.search(d, s, "-k", 3, "--normalize"), atoms, signals, 3, True)
        self.check(self.search(d, s, "-k", 3, "--precision", "double"), atoms, signals, 3)
        one = self.save("one.npy", signals[2])
        self.check(self.search(d, one, "-k", 2), atoms, signals[2:3], 2)

    def test_every_kind_of_array_gives_the_same(self):
        atoms, signals = draw()
        atoms, signals = numpy.round(20 * atoms), numpy.round(20 * signals)
        s = self.save("s.npy", signals)
        expected = self.search(self.save("d.npy", atoms), s, "-k", 4)["signals"]
        self.check({**self.search(self.save("d.npy", atoms), s, "-k", 4)}, atoms, signals, 4)
        for dtype in ("<f4", ">f4", "<f8", ">f8", "i1", "<i2", ">i2", "<i4", ">i8", "<i8"):
            for order in "CF":
                with self.subTest(dtype=dtype, order=order):
                    d = self.save("other.npy", numpy.asarray(atoms.astype(dtype), order=order))
                    t = self.save("t.npy", numpy.asarray(signals.astype(dtype), order=order))
                    found = self.search(d, t, "-k", 4)["signals"]
                    self.assertEqual([f["best"] for f in found], [e["best"] for e in expected])

    def test_threads_and_batches_change_no_byte(self):
        atoms, signals = draw(5000, 64, 9)
        d, s = self.save("d.npy", atoms.astype("f4")), self.save("s.npy", signals)
        whole = envoi("search", d, s, "-k", 3, "--json", "--threads", 1).stdout
        for threads in (2, 3, 7):
            self.assertEqual(envoi("search", d, s, "-k", 3, "--json", "--threads", threads).stdout, whole)
        alone = self.search(d, self.save("one.npy", signals[4]), "-k", 3)["signals"][0]
        self.assertEqual(alone["best"], json.loads(whole)["signals"][4]["best"])

    def test_outputs(self):
        atoms, signals = draw()
        d, s = self.save("d.npy", atoms), self.save("s.npy", signals)
        outs = [self.folder / f"out.{ending}" for ending in ("json", "ndjson", "tsv")]
        done = envoi("search", d, s, "-k", 2, *[word for out in outs for word in ("-o", out)])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual(outs[0].read_bytes(), envoi("search", d, s, "-k", 2, "--json").stdout)
        result = json.loads(outs[0].read_text())
        lines = [json.loads(line) for line in outs[1].read_text().splitlines()]
        self.assertEqual([line["best"] for line in lines[1:]], [x["best"] for x in result["signals"]])
        rows = [line.split("\t") for line in outs[2].read_text().splitlines()]
        self.assertEqual(rows[0], ["signal", "order", "index", "score"])
        best = [(i, b["index"], b["score"]) for i, x in enumerate(result["signals"]) for b in x["best"]]
        self.assertEqual([(int(r[0]), int(r[2]), float(r[3])) for r in rows[1:]], best)
        table = envoi("search", d, s).stdout.decode().splitlines()
        self.assertEqual(table[0], "4 signals, 300 atoms of 50 samples; counted from 0")
        self.assertEqual(table[3].split()[1], str(best[0][1]))
        piped = envoi("search", d, "-", "-k", 2, "--json", stdin=s.read_bytes())
        self.assertEqual(piped.stdout, outs[0].read_bytes())
        piped = envoi("search", "-", s, "-k", 2, "--json", stdin=d.read_bytes())
        self.assertEqual(piped.stdout, outs[0].read_bytes())

    def test_bad_input(self):
        atoms, signals = draw(70, 10, 2)
        d, s = self.save("d.npy", atoms), self.save("s.npy", signals)

        def refused(code, dictionary, signal_file, *options, words=(), env=None):
            before = self.names()
            with self.subTest(words=words):
                done = envoi("search", dictionary, signal_file, "-o", self.folder / "out.json", *options, env=env)
                self.check_refused(done, code, *words)
                self.assertEqual(self.names(), before)

        refused(3, d, self.save("long.npy", signals[:, :9]), words=("long.npy", "9 samples", "have 10"))
        for name, array, words in (
            ("none.npy", atoms[:0], ("0 atoms",)),
            ("thin.npy", atoms[:, :0], ("0 samples",)),
            ("deep.npy", atoms.reshape(7, 10, 10), ("3 axes",)),
            ("point.npy", numpy.float64(3), ("0 axes",)),
            ("complex.npy", atoms.astype(complex), ("c16", "complex")),
            ("half.npy", atoms.astype("f2"), ("f2", "astype")),
            ("yes.npy", atoms > 0, ("b1",)),
            ("words.npy", atoms.astype("U5"), ("U5",)),
            ("fields.npy", numpy.zeros(10, [("a", "f8"), ("b", "f8")]), ("structured",)),
            ("large.npy", numpy.full((2, 10), 2**53 + 1), ("row 0, column 0", "2^53")),
        ):
            path = self.save(name, array)
            refused(3, path, s, words=(name, *words))
            if name not in ("none.npy", "deep.npy"):
                refused(3, d, path, words=(name,))
        for value in (numpy.nan, numpy.inf):
            for dtype in ("f4", "f8"):
                wrong = atoms.astype(dtype)
                wrong[66, 7] = wrong[68, 1] = value
                refused(3, self.save("wrong.npy", wrong), s, words=("wrong.npy", "row 66, column 7"))
                refused(3, self.save("wrong.npy", wrong), s, "--precision", "double", words=("row 66, column 7",))
                refused(3, d, self.save("odd.npy", wrong), words=("odd.npy", "row 66, column 7"))
        cut = self.folder / "cut.npy"
        cut.write_bytes(d.read_bytes()[:-1])
        refused(3, cut, s, words=("cut.npy", "cut off", "70 x 10"))
        cut.write_bytes(d.read_bytes()[:40])
        refused(3, cut, s, words=("cut.npy", "cut off"))
        cut.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + bytes(100))
        refused(3, cut, s, words=("cut.npy",))
        cut.write_bytes(b"")
        refused(3, cut, s, words=("cut.npy", "empty"))
        text = self.folder / "text.npy"
        text.write_text("1 2 3\n")
        refused(3, text, s, words=("text.npy", "NUMPY"))
        refused(3, self.folder / "nobody.npy", s, words=("nobody.npy", "no such file"))
        refused(3, self.folder, s, words=("folder",))
        big = self.save("big.npy", numpy.full((1, 10), 1e300))
        refused(3, big, big, words=("1.8e308", "scale"))
        refused(2, d, s, "-k", 71, words=("71", "70 atoms"))
        for k in ("0", "-1", "1.5", "many"):
            refused(2, d, s, f"-k={k}")
        refused(2, d, s, "--threads", 0)
        refused(2, d, s, "--precision", "half", words=("exact", "double"))
        refused(2, d, s, env={"ENVOI_ISA": "abacus"}, words=("ENVOI_ISA", "abacus"))
        refused(2, "-", "-")
        same = self.folder / "same.json"
        same.write_bytes(d.read_bytes())
        refused(2, same, s, "-o", same, words=("overwritten",))
        refused(2, d, same, "-o", same, words=("overwritten",))
        self.check_refused(envoi("search", d), 2, "SIGNALS")
        self.check_refused(envoi("search", d, s, "-o", self.folder / "x.csv"), 2, ".tsv")

    def test_larger_than_memory(self):
        """2 GB of rows, nearly all of them holes in the file, where the process may have a fifth of that."""
        samples, atoms = 512, 200_000 if sanitized() else 1_000_000
        path = self.folder / "large.npy"
        header = numpy.lib.format.header_data_from_array_1_0(numpy.empty((1, samples), "f4"))
        with open(path, "wb") as file:
            numpy.lib.format.write_array_header_1_0(file, {**header, "shape": (atoms, samples)})
            start = file.tell()
            random = numpy.random.default_rng(1)
            kept = {}
            for row in (0, 1, 123_456, atoms - 1):
                kept[row] = random.normal(size=samples).astype("f4")
                file.seek(start + row * samples * 4)
                file.write(kept[row].tobytes())
        signals = self.save("s.npy", kept[123_456] + 0.1 * random.normal(size=(2, samples)))
        room = 400 << 20
        done = subprocess.run(
            [ENVOI, "search", path, signals, "-k", "2", "--json", "--threads", "2"],
            capture_output=True,
            check=False,
            preexec_fn=None if sanitized() else lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room)),
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        result = json.loads(done.stdout)
        self.assertEqual(result["atoms"], atoms)
        for signal in result["signals"]:
            self.assertEqual(signal["best"][0]["index"], 123_456)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{path.stat().st_size / 1e9:.1f} GB searched with {usage:.0f} MB")


def sanitized():
    """Sanitizers reserve terabytes of addresses."""
    with open(ENVOI, "rb") as file:
        return b"__asan_init" in file.read()


if __name__ == "__main__":
    unittest.main()
