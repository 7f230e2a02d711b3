"""Many files and long runs: continued after a kill, shared out among jobs, shards and ranks, to the same bytes."""

import itertools
import os
import pathlib
import random
import resource
import shutil
import signal as signals
import subprocess
import time
import unittest

import numpy

from support import ENVOI, InFolder, envoi, signal, write_text

FAST = ["--rate", "256", "--window", "1", "--atoms", "2", "--band", "4:40", "--durations", "0.03:0.1", "--max-loss", "0.3"]


def limit_files(size):
    """Writing beyond fails, as on a full disk, instead of a signal."""
    signals.signal(signals.SIGXFSZ, signals.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Resume(InFolder):
    def setUp(self):
        super().setUp()
        self.input = write_text(self.folder / "in.txt", signal(256 * 60), signal(256 * 60, seed=1))
        self.out = self.folder / "out.json"
        self.partial = self.folder / "out.json.partial"
        self.line = ["analyze", self.input, *FAST]
        plain = self.folder / "plain.json"
        start = time.monotonic()
        self.assertEqual(envoi(*self.line, "-o", plain).returncode, 0)
        self.took = time.monotonic() - start
        self.whole = plain.read_bytes()
        plain.unlink()

    def visible(self, folder="."):
        """All but the temporary files that a kill may leave where an output is about to appear."""
        return sorted(name for name in os.listdir(self.folder / folder) if not name.startswith("."))

    def interrupted(self, after, line=None, watch=None):
        """Kills the run some time after its partial file is there; gives its exit code."""
        process = subprocess.Popen([ENVOI, *map(str, line or [*self.line, "-o", self.out, "--resume"])], stderr=subprocess.PIPE)
        while process.poll() is None and not (watch or self.partial).exists():
            time.sleep(0.001)
        time.sleep(after)
        process.kill()
        process.communicate()
        return process.returncode

    def test_killed_at_random_moments_until_it_is_done(self):
        moments = random.Random(3)
        kills, size = 0, 0
        for _ in range(60):
            if self.interrupted(moments.uniform(0, self.took / 4)) == 0:
                break
            kills += 1
            if self.partial.exists():
                # Nothing that was kept is lost, but for a record that was torn.
                self.assertGreaterEqual(self.partial.stat().st_size, size - 8192)
                size = self.partial.stat().st_size
            self.assertFalse(self.out.exists())
        done = envoi(*self.line, "-o", self.out, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(kills, 2)
        self.assertEqual(self.out.read_bytes(), self.whole)
        self.assertEqual(self.visible(), ["in.txt", "out.json"])

    def test_a_finished_part_is_not_computed_again(self):
        # What is kept after an interruption is not appended again: the file only grows by what was missing.
        self.assertNotEqual(self.interrupted(self.took / 3), 0)
        kept = self.partial.read_bytes()
        self.assertGreater(len(kept), 10000)
        self.assertNotEqual(self.interrupted(self.took / 3), 0)
        more = self.partial.read_bytes()
        # All but a torn record is still there.
        self.assertEqual(more[: len(kept) - 8192], kept[: len(kept) - 8192])
        names = [more[i : i + 40] for i in range(len(more)) if more[i + 16 : i + 24] == b" window "]
        self.assertGreater(len(names), 10)
        self.assertEqual(len(names), len(set(names)))

    def test_parts_of_another_run_are_refused(self):
        self.assertNotEqual(self.interrupted(self.took / 4), 0)
        kept = self.partial.read_bytes()
        resumed = [*self.line, "-o", self.out, "--resume"]
        self.check_refused(envoi(*resumed, "--method", "omp"), 3, "out.json.partial", "options", "remove the file")
        other = write_text(self.folder / "other.txt", signal(256 * 60, seed=5))
        self.check_refused(envoi("analyze", other, *FAST, "-o", self.out, "--resume"), 3, "input file", "repeat that run")
        self.assertEqual(self.partial.read_bytes(), kept)
        # Threads are no part of it.
        self.assertEqual(envoi(*resumed, "--threads", 1).returncode, 0)
        self.assertEqual(self.out.read_bytes(), self.whole)

    def test_two_runs_at_once(self):
        process = subprocess.Popen([ENVOI, *map(str, [*self.line, "-o", self.out, "--resume"])], stderr=subprocess.PIPE)
        while process.poll() is None and not self.partial.exists():
            time.sleep(0.001)
        process.send_signal(signals.SIGSTOP)
        self.check_refused(envoi(*self.line, "-o", self.out, "--resume"), 3, "another process")
        process.send_signal(signals.SIGCONT)
        process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.out.read_bytes(), self.whole)

    def test_a_full_disk(self):
        line = [ENVOI, *map(str, [*self.line, "-o", self.out, "--resume"])]
        # The command may not write more than so much into one file.
        done = subprocess.run(
            line, capture_output=True, check=False, preexec_fn=lambda: limit_files(20000), restore_signals=False
        )
        self.check_refused(done, 3, "out.json.partial", "make room")
        self.assertFalse(self.out.exists())
        self.assertEqual(envoi(*self.line, "-o", self.out, "--resume").returncode, 0)
        self.assertEqual(self.out.read_bytes(), self.whole)
        self.assertEqual(self.names(), ["in.txt", "out.json"])

    def test_other_things_in_the_way(self):
        self.partial.write_text("my own notes")
        self.check_refused(envoi(*self.line, "-o", self.out, "--resume"), 3, "in the way")
        self.assertEqual(self.partial.read_text(), "my own notes")

    def test_needs_a_file(self):
        self.check_refused(envoi(*self.line, "--resume"), 2, "--resume", "-o")
        self.check_refused(envoi(*self.line, "--resume", "-o", "-"), 2, "--resume", "-o")

    def test_whole_signal_and_joint_channels(self):
        for options in (["--whole", "--density", "5"], ["--across", "joint"], ["--method", "joint"]):
            line = ["analyze", self.input, "--rate", "256", "--band", "4:40", "--durations", "0.03:0.1", "--max-loss", "0.3"]
            line += options if "--whole" in options else ["--window", "2", "--atoms", "2", *options]
            start = time.monotonic()
            self.assertEqual(envoi(*line, "-o", self.folder / "plain.json").returncode, 0)
            took = time.monotonic() - start
            for _ in range(3):
                self.interrupted(took / 5, [*line, "-o", self.out, "--resume"])
            self.assertEqual(envoi(*line, "-o", self.out, "--resume").returncode, 0)
            self.assertEqual(self.out.read_bytes(), (self.folder / "plain.json").read_bytes())
            self.out.unlink()

    def test_several_files(self):
        two = write_text(self.folder / "two.txt", signal(256 * 60, seed=7))
        line = ["analyze", self.input, two, *FAST, "--jobs", "2", "-o"]
        (self.folder / "plain").mkdir()
        self.assertEqual(envoi(*line, f"{self.folder}/plain/").returncode, 0)
        self.assertEqual(envoi(*line, self.folder / "plain.tsv").returncode, 0)
        (self.folder / "r").mkdir()
        for i, out in itertools.product(range(2), (f"{self.folder}/r/", self.folder / "all.tsv")):
            folder = self.folder / ("r" if i == 0 else ".")
            process = subprocess.Popen([ENVOI, *map(str, [*line, out, "--resume"])])
            while process.poll() is None and not list(folder.glob("*.partial")):
                time.sleep(0.001)
            time.sleep(self.took / 2)
            process.kill()
            process.communicate()
        self.assertEqual(envoi(*line, f"{self.folder}/r/", "--resume").returncode, 0)
        self.assertEqual(envoi(*line, self.folder / "all.tsv", "--resume").returncode, 0)
        for name in ("in.json", "two.json"):
            self.assertEqual((self.folder / "r" / name).read_bytes(), (self.folder / "plain" / name).read_bytes())
        self.assertEqual(self.visible("r"), ["in.json", "two.json"])
        self.assertEqual((self.folder / "all.tsv").read_bytes(), (self.folder / "plain.tsv").read_bytes())
        self.assertEqual(self.visible(), ["all.tsv", "in.txt", "plain", "plain.tsv", "r", "two.txt"])


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
            self.assertEqual(done.stderr, one.stderr)
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

    def test_memory_does_not_grow_with_channels(self):
        quick = ["--window", "10", "--atoms", "1", "--band", "4:20", "--durations", "0.1:0.2", "--max-loss", "0.5", "--gabor"]

        def peak(channels):
            path = write_edf(self.folder / f"{channels}.edf", channels, 500, (256,))
            line = f"import resource,subprocess,sys; p = subprocess.run({[ENVOI, 'analyze', str(path), *quick, '--quiet', '--threads', '1', '--json']!r}, stdout=subprocess.DEVNULL); print(p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
            done = subprocess.run(["python3", "-c", line], capture_output=True, env={**os.environ, "ENVOI_GROUP_BYTES": "1e6"}, check=True)
            code, kilobytes = map(int, done.stdout.split())
            self.assertEqual(code, 0)
            return kilobytes * 1024 - path.stat().st_size  # the file itself is mapped
        few, many = peak(2), peak(16)
        self.assertLess(many - few, 14 * 500 * 256 * 8 / 3)


MPI = pathlib.Path(ENVOI).with_name("envoi-mpi")


@unittest.skipUnless(MPI.exists() and shutil.which("mpirun"), "MPI is not installed, so that envoi-mpi was not built")
class Ranks(InFolder):
    def mpi(self, ranks, *arguments, **env):
        environment = {**self.environment(), **env}
        return subprocess.run(self.line(ranks, *arguments), capture_output=True, timeout=100, check=False, env=environment)

    @staticmethod
    def environment():
        return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "COLUMNS": "200"}

    @staticmethod
    def line(ranks, *arguments):
        more = ["--oversubscribe"] if b"Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True).stdout else []
        return ["mpirun", *more, "-n", str(ranks), str(MPI), *map(str, arguments)]

    def setUp(self):
        super().setUp()
        # One long, with several channels; several short.
        self.files = [
            write_text(self.folder / f"f{i}.txt", *[signal(256 * seconds, seed=i + 10 * c) for c in range(3)])
            for i, seconds in enumerate((20, 3, 2, 4, 2))
        ]

    def test_any_number_of_ranks_writes_the_same_bytes(self):
        for files, options in (
            (self.files, FAST),
            (self.files[:1], FAST),
            (self.files[:1], [*FAST, "--across", "joint"]),
            (self.files[:2], ["--rate", "256", "--band", "4:40", "--durations", "0.03:0.1", "--max-loss", "0.3", "--whole", "--density", "3"]),
        ):
            outputs = {}
            for ranks in (0, 1, 2, 4):
                folder = self.folder / f"r{ranks}"
                folder.mkdir()
                line = ["analyze", *files, *options]
                for ending in ("json", "ndjson", "db"):
                    line += ["-o", f"{folder}/{{name}}.{ending}"]
                line += ["-o", folder / "all.tsv", "--log", self.folder / "log"]
                # With two, channel by channel.
                group = {"ENVOI_GROUP_BYTES": "1"} if ranks == 2 else {}
                done = self.mpi(ranks, *line, **group) if ranks else envoi(*line)
                self.assertEqual(done.returncode, 0, done.stderr)
                outputs[ranks] = {path.name: path.read_bytes() for path in folder.iterdir()}
                shutil.rmtree(folder)
            self.assertEqual(len(outputs[0]), 3 * len(files) + 1)
            for ranks in (1, 2, 4):
                for name, content in outputs[0].items():
                    self.assertEqual(outputs[ranks].get(name), content, f"{name}, {ranks} ranks")
        done = self.mpi(2, "analyze", *self.files, *FAST)
        plain = envoi("analyze", *self.files, *FAST, env=self.environment())
        self.assertEqual(done.stdout.replace(b"\r\n", b"\n"), plain.stdout)

    def test_failures_end_all_ranks(self):
        bad = self.folder / "bad.edf"
        bad.write_bytes(b"0       " + bytes(300))
        line = ["analyze", *self.files[1:3], bad, self.folder / "none.txt", *FAST, "-o", self.folder / "all.tsv"]
        for ranks in (2, 4):
            done = self.mpi(ranks, *line)
            self.assertEqual(done.returncode, 3)
            self.assertEqual(done.stderr.count(b"none.txt: no such file"), 1, done.stderr)
            self.assertIn(b"2 of 4 files failed", done.stderr)
            self.assertNotIn(b"interrupted", done.stderr)
            self.assertEqual((self.folder / "all.tsv").read_text().count("f1.txt") > 0, True)
        for arguments in (["analyze", "--bnad", "1"], ["analyze", *self.files, "-o", "x.json"], ["analyze", "-"], ["analyze"]):
            done = self.mpi(2, *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stderr.count(b"envoi: "), 1, done.stderr)
        done = self.mpi(2, "analyze", self.folder / "*.xyz")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.mpi(2, "--version").stdout.count(b"envoi "), 1)

    def test_resume(self):
        plain, out = self.folder / "plain.json", self.folder / "out.json"
        long = write_text(self.folder / "long.txt", signal(256 * 90), signal(256 * 90, seed=1))
        line = ["analyze", long, *FAST[:4], *FAST[6:], "--method", "joint", "--atoms", "4"]
        self.assertEqual(envoi(*line, "-o", plain).returncode, 0)
        line += ["-o", out, "--resume"]

        def kept():
            return sum(path.stat().st_size for path in self.folder.glob("*.partial"))

        for ranks in (2, 3):
            process = subprocess.Popen(
                self.line(ranks, *line), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment()
            )
            while process.poll() is None and kept() < 12000 * (ranks - 1):
                time.sleep(0.0005)
            process.terminate()
            process.wait()
        self.assertGreater(len(list(self.folder.glob("*.partial"))), 0)
        done = self.mpi(2, *line)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(out.read_bytes(), plain.read_bytes())
        self.assertEqual(list(self.folder.glob("*.partial")), [])


if __name__ == "__main__":
    unittest.main()
