"""Many files and many channels: patterns, lists, jobs, shards, and recordings that are read a group at a time."""

import itertools
import os
import pathlib
import subprocess
import sys
import unittest

import numpy

from support import ENVOI, FAST, InFolder, envoi, signal, write_text


class ManyFiles(InFolder):
    def setUp(self):
        super().setUp()
        # The first takes longest, so that others are finished before it.
        self.files = [
            write_text(self.folder / f"{name}.txt", signal(256 * (30 if name == "c" else 3), seed=i))
            for i, name in enumerate("cabed")
        ]

    def test_jobs_change_neither_order_nor_bytes(self):
        line = ["analyze", *self.files, self.folder / "none.txt", *FAST]
        one = envoi(*line, "-o", self.folder / "one.tsv")
        tables = envoi(*line)
        for jobs in (2, 3, 16):
            done = envoi(*line, "--jobs", jobs, "-o", self.folder / "more.tsv")
            self.assertEqual(done.returncode, 3)
            self.assertEqual((self.folder / "more.tsv").read_bytes(), (self.folder / "one.tsv").read_bytes())
            self.assertEqual(sorted(done.stderr.splitlines()), sorted(one.stderr.splitlines()))
            self.assertEqual(envoi(*line, "--jobs", jobs).stdout, tables.stdout)
        self.assertIn(b"1 of 6 files failed: " + str(self.folder / "none.txt").encode(), one.stderr)
        order = [row.split("\t")[0] for row in (self.folder / "one.tsv").read_text().splitlines()[1:]]
        self.assertEqual([name for name, _ in itertools.groupby(order)], [f"{name}.txt" for name in "cabed"])
        self.check_refused(envoi(*line, "--jobs", 0), 2, "--jobs")

    def files_of(self, *arguments, code=0, **more):
        (self.folder / "r").mkdir(exist_ok=True)
        for old in (self.folder / "r").iterdir():
            old.unlink()
        done = envoi("analyze", *arguments, *FAST, "-o", f"{self.folder}/r/", **more)
        self.assertEqual(done.returncode, code, done.stderr)
        return "".join(sorted(path.stem for path in (self.folder / "r").iterdir()))

    def test_patterns(self):
        self.assertEqual(self.files_of(self.folder / "[ab].txt", self.files[0], self.folder / "?.txt"), "abcde")
        odd = write_text(self.folder / "x[1].txt", signal(256))
        self.assertEqual(self.files_of(odd, self.files[1]), "ax[1]")  # a file of that very name comes first
        self.check_refused(envoi("analyze", self.folder / "*.edf"), 3, "*.edf", "no file matches")
        # Sorted, as a shell would.
        done = envoi("analyze", self.folder / "[a-c].txt", *FAST, "-o", self.folder / "all.tsv")
        self.assertEqual(done.returncode, 0, done.stderr)
        order = [row.split("\t")[0] for row in (self.folder / "all.tsv").read_text().splitlines()[1:]]
        self.assertEqual([name for name, _ in itertools.groupby(order)], ["a.txt", "b.txt", "c.txt"])

    def test_lists(self):
        paths = "".join(f"{path}\r\n\n" for path in self.files[:3])
        (self.folder / "list").write_text(paths)
        self.assertEqual(self.files_of("--files-from", self.folder / "list"), "abc")
        self.assertEqual(self.files_of("--files-from", "-", self.files[4], stdin=paths.encode()), "abcd")
        # Each once, whatever it is called.
        (self.folder / "link.txt").symlink_to("a.txt")
        self.assertEqual(self.files_of(self.folder / "." / "a.txt", self.folder / "link.txt", "--files-from", self.folder / "list"), "abc")
        for text, words in ((b"", "names no file"), (b"\n\n", "names no file"), (b"a\0b\n", "line 1"), (b"x\n-\n", "line 2")):
            (self.folder / "list").write_bytes(text)
            done = envoi("analyze", "--files-from", self.folder / "list")
            self.check_refused(done, done.returncode, "list", words)
            self.assertIn(done.returncode, (2, 3))
        self.check_refused(envoi("analyze", "--files-from", self.folder / "no"), 3, "no", "--files-from")
        self.check_refused(envoi("analyze", "--files-from", self.folder), 3, "--files-from")
        self.check_refused(envoi("analyze", "-", "--files-from", "-"), 2, "standard input")

    def test_shards_are_all_files_once(self):
        together = ""
        for i in (1, 2, 3):
            mine = self.files_of(*self.files, "--shard", f"{i}/3")
            self.assertEqual(mine, "abcde"[i - 1 :: 3])
            together += mine
        self.assertEqual(sorted(together), list("abcde"))
        # Its order is of names, not of the line.
        self.assertEqual(self.files_of(*reversed(self.files), "--shard", "2/3"), "be")
        nothing = envoi("analyze", *self.files, *FAST, "--shard", "6/9", "-o", self.folder / "x{shard}.tsv")
        self.assertEqual((nothing.returncode, nothing.stdout), (0, b""))
        self.assertIn(b"nothing to do", nothing.stderr)
        for wrong in ("0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/2/3"):
            self.check_refused(envoi("analyze", *self.files, f"--shard={wrong}"), 2, "--shard")
        # One name for all shards would be written over.
        self.check_refused(envoi("analyze", *self.files, "--shard", "1/3", "-o", self.folder / "all.tsv"), 2, "{shard}")
        for i in (1, 2):
            self.assertEqual(envoi("analyze", *self.files, *FAST, "--shard", f"{i}/2", "-o", self.folder / "s{shard}.tsv").returncode, 0)
        self.assertTrue((self.folder / "s1.tsv").exists() and (self.folder / "s2.tsv").exists())


def write_edf(path, channels, records, rates, missing=None, unit="uV"):
    """EDF+ of one-second records, with an annotation channel that may mark a span of seconds as bad."""
    labels = [*(f"EEG C{i}" for i in range(channels)), "EDF Annotations"]
    counts = [*(rates[i % len(rates)] for i in range(channels)), 30]
    fields = [("", 80), ("Startdate 01-JAN-2020 X X X", 80), ("01.01.20", 8), ("00.00.00", 8), (256 * (channels + 2), 8),
              ("EDF+C", 44), (records, 8), (1, 8), (channels + 1, 4)]
    text = "0".ljust(8) + "".join(str(value).ljust(width) for value, width in fields)
    for values, width in (
        (labels, 16), ([""] * (channels + 1), 80), ([unit] * channels + [""], 8), (["-200"] * channels + ["-1"], 8),
        (["200"] * channels + ["1"], 8), (["-32768"] * (channels + 1), 8), (["32767"] * (channels + 1), 8),
        ([""] * (channels + 1), 80), (counts, 8), ([""] * (channels + 1), 32),
    ):
        text += "".join(str(value).ljust(width) for value in values)
    data = text.encode("ascii")
    waves = [signal(records * counts[i], rate=float(counts[i]), seed=i) for i in range(channels)]
    for k in range(records):
        for i in range(channels):
            x = waves[i][k * counts[i] : (k + 1) * counts[i]] / 200 * 32767
            data += numpy.round(x).clip(-32768, 32767).astype("<i2").tobytes()
        notes = b"+%d\x14\x14\0" % k
        if k == 0 and missing:
            notes += b"+%d\x15%d\x14BAD_move\x14\0" % missing
        data += notes.ljust(60, b"\0")
    path.write_bytes(data)
    return path


class ManyChannels(InFolder):
    def same(self, *line, words=b""):
        """All channels at once, one at a time and two at a time give one result; the program says the same."""
        plain = envoi(*line, env={"ENVOI_GROUP_BYTES": "1e9"})
        self.assertIn(words, plain.stderr)
        for size in ("1", "20000"):
            grouped = envoi(*line, env={"ENVOI_GROUP_BYTES": size})
            self.assertEqual(grouped.returncode, plain.returncode)
            self.assertEqual(grouped.stdout, plain.stdout)
            said = [
                sorted(row for row in run.stderr.splitlines() if run.returncode == 0 or b"warning" not in row)
                for run in (plain, grouped)
            ]
            self.assertEqual(said[1], said[0])
        return plain

    def test_channel_by_channel_gives_the_same_bytes(self):
        night = write_edf(self.folder / "night.edf", 5, 6, (128, 64), missing=(2, 1), unit="")
        line = ["analyze", night, "--json", "--window", 1, "--atoms", 2, "--band", "4:20", "--max-loss", 0.3]
        done = self.same(*line, words=b"count as missing")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"gives no unit for 5 channels", done.stderr)
        self.assertIn(b"windows are left out", done.stderr)
        # Conditioning says one thing about all channels.
        self.same(*line, "--high-pass", 0.1, "--resample", 64, words=b"stretches (of all channels)")
        self.same(*line, "--reference", "average")
        self.same(*line, "--from", 1, "--to", 4, "--exclude", "*C1", "--unit", "uV")
        self.same("analyze", night, "--json", "--whole", "--density", 2, "--band", "4:20", "--max-loss", "0.3")
        # Refusals too.
        self.assertEqual(self.same(*line, "--channels", "X").returncode, 2)
        self.assertEqual(self.same(*line, "--high-pass", 40).returncode, 2)
        self.assertEqual(self.same(*line, "--from", 100).returncode, 2)
        # Of other formats too, which are read at once.
        self.same("analyze", write_text(self.folder / "x.txt", signal(512), signal(512, seed=2)), "--json", *FAST)
        # And continued after groups of another size.
        out = self.folder / "out.json"
        envoi(*line[:2], *line[3:], "-o", out, "--resume", env={"ENVOI_GROUP_BYTES": "1"})
        self.assertEqual(out.read_bytes(), done.stdout)

    @unittest.skipUnless(os.environ.get("ENVOI_CASES"), "ENVOI_CASES names no folder of recordings")
    def test_real_recordings(self):
        cases = pathlib.Path(os.environ["ENVOI_CASES"])
        for name in ("edf/uneven_rates.edf", "edf/half_second_records.bdf", "brainvision/test.vhdr"):
            done = self.same(
                "analyze", cases / name, "--to", 6, "--window", 3, "--atoms", 1, "--gabor", "--max-loss", 0.5,
                "--durations", "0.2:0.3", "--high-pass", 0.5, "--json",
            )
            self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(sys.platform == "linux", "counts memory as Linux does")
    def test_memory_does_not_grow_with_channels(self):
        quick = ["--window", "10", "--atoms", "1", "--band", "4:20", "--durations", "0.1:0.2", "--max-loss", "0.5", "--gabor"]

        def peak(channels):
            path = write_edf(self.folder / f"{channels}.edf", channels, 300, (256,))
            line = [ENVOI, "analyze", str(path), *quick, "--quiet", "--threads", "1", "--json"]
            # In a process of its own: the peak is that of all children so far.
            program = (
                "import resource, subprocess, sys; p = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
                "print(p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
            )
            done = subprocess.run(
                [sys.executable, "-c", program, *line],
                capture_output=True,
                env={**os.environ, "ENVOI_GROUP_BYTES": "6e5", "ASAN_OPTIONS": "quarantine_size_mb=1"},
                check=True,
            )
            code, kilobytes = map(int, done.stdout.split())
            self.assertEqual(code, 0)
            return kilobytes * 1024 - path.stat().st_size  # the file itself is mapped
        few, many = peak(2), peak(16)
        self.assertLess(many - few, 14 * 300 * 256 * 8 / 3)


if __name__ == "__main__":
    unittest.main()
