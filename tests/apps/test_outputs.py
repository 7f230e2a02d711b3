"""Outputs are whole or untouched: signals at any moment, full disks, folders that may not be written."""

import json
import os
import random
import resource
import signal as signals
import subprocess
import time
import unittest

from support import ENVOI, InFolder, envoi, signal, write_text


class Outputs(InFolder):
    def setUp(self):
        super().setUp()
        self.input = write_text(self.folder / "in.txt", signal(512))
        self.out = self.folder / "out.json"
        self.options = ["analyze", str(self.input), "--rate", "256", "--atoms", "3"]

    def test_signals_at_random_moments(self):
        start = time.monotonic()
        done = envoi(*self.options, "-o", self.out)
        whole_run = time.monotonic() - start
        self.assertEqual(done.returncode, 0, done.stderr)
        complete = self.out.read_bytes()
        moments = random.Random(7)
        seen = set()
        for i in range(50):
            before = b"what was there\n" if i % 2 else None
            if before is None:
                self.out.unlink(missing_ok=True)
            else:
                self.out.write_bytes(before)
            process = subprocess.Popen(
                [ENVOI, *self.options, "-o", str(self.out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            # From the moment its signals are watched: before that nothing can have been written.
            while process.poll() is None and not self.watches(process.pid):
                time.sleep(0.0002)
            time.sleep(moments.uniform(0, 1.2 * whole_run))
            process.send_signal((signals.SIGINT, signals.SIGTERM)[i // 2 % 2])
            stdout, stderr = process.communicate(timeout=60)
            after = self.out.read_bytes() if self.out.exists() else None
            seen.add(process.returncode)
            self.assertEqual(stdout, b"")
            if process.returncode == 0:
                self.assertEqual(after, complete)
            else:
                self.assertEqual(process.returncode, 130, stderr)
                self.assertIn(b"interrupted", stderr)
                self.assertIn(after, (before, complete))
            self.assertIn(self.names(), (["in.txt"], ["in.txt", "out.json"]))
        self.assertIn(130, seen)

    @staticmethod
    def watches(pid):
        """Whether SIGINT is blocked, to be waited for by a thread (elsewhere than on Linux: assume so soon)."""
        try:
            with open(f"/proc/{pid}/status", encoding="ascii") as status:
                blocked = next(line for line in status if line.startswith("SigBlk"))
            return int(blocked.split()[1], 16) >> 1 & 1 == 1
        except (OSError, StopIteration):
            time.sleep(0.02)
            return True

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_full_disk(self):
        link = self.folder / "full.json"
        link.symlink_to("/dev/full")
        done = envoi(*self.options, "-o", link)
        self.check_refused(done, 3, "full.json", "No space left")
        self.assertTrue(link.is_symlink())
        with open("/dev/full", "wb") as full:
            done = subprocess.run([ENVOI, *self.options, "--json"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"standard output", done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_reader_that_goes_away(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([ENVOI, *self.options, "--json"], stdout=write, stderr=subprocess.PIPE, check=False)
        os.close(write)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_unwritable_folders_are_refused_before_the_work(self):
        for path in (self.folder / "none" / "x.json", self.input / "x.json", "/proc/x.json"):
            start = time.monotonic()
            done = envoi("analyze", self.input, "--rate", 256, "--atoms", 150, "--method", "joint", "-o", path)
            self.check_refused(done, 3, str(path))
            self.assertLess(time.monotonic() - start, 1)
        locked = self.folder / "locked"
        locked.mkdir(mode=0o555)
        if not os.access(locked, os.W_OK):  # root may write anywhere
            self.check_refused(envoi(*self.options, "-o", locked / "x.json"), 3, "Permission denied")
        self.assertEqual(self.names(), ["in.txt", "locked"])

    def test_an_existing_output_keeps_its_mode_and_its_link(self):
        real = self.folder / "real.json"
        real.write_text("old")
        real.chmod(0o640)
        self.out.symlink_to("real.json")
        self.assertEqual(envoi(*self.options, "-o", self.out).returncode, 0)
        self.assertTrue(self.out.is_symlink())
        self.assertEqual(real.stat().st_mode & 0o777, 0o640)
        json.loads(real.read_text())

    def test_a_failed_run_leaves_the_output_as_it_was(self):
        self.out.write_text("old")
        (self.folder / "bad.edf").write_bytes(b"0       " + bytes(300))
        self.assertEqual(envoi("analyze", self.folder / "bad.edf", "-o", self.out).returncode, 3)
        self.assertEqual(self.out.read_text(), "old")
        self.assertEqual(self.names(), ["bad.edf", "in.txt", "out.json"])

    def test_inputs_are_never_overwritten(self):
        tsv = write_text(self.folder / "in.tsv", signal(512))
        before = tsv.read_bytes()
        (self.folder / "link.tsv").symlink_to("in.tsv")
        for out in (tsv, self.folder / "link.tsv", str(self.folder) + "/./in.tsv"):
            self.check_refused(envoi("analyze", tsv, "--rate", 256, "-o", out), 2, "input")
        self.assertEqual(tsv.read_bytes(), before)

    def test_a_limit_of_file_sizes_is_a_full_disk(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

        for more in ([], ["--resume"]):
            done = subprocess.run(
                [ENVOI, *self.options, "-o", str(self.out), *more], capture_output=True, preexec_fn=limit, check=False
            )
            self.check_refused(done, 3, "out.json", "large")
            self.assertEqual(self.names(), ["in.txt"])

    def test_no_two_outputs_are_one_file(self):
        rule = ["--annotate", "x: 1-100 Hz", "--annotations"]
        for words in (
            ["-o", "o.tsv", *rule, "o.tsv"],
            ["-o", "o.tsv", *rule, "./o.tsv"],
            [*rule, "a.tsv", "--annotations", "./a.tsv"],
            ["-o", "p.json", "--log", "p.json"],
            ["-o", "x.html", "--report", "./x.html"],
            ["-o", "p.json", "--log", "p.json.partial", "--resume"],
        ):
            with self.subTest(words):
                self.check_refused(envoi(*self.options, *words, cwd=self.folder), 2, "envoi: ", "apart")
        self.assertEqual(envoi(*self.options, "-o", "p.json", cwd=self.folder).returncode, 0)
        for words in (["convert", "p.json", "q.tsv", "./q.tsv"], ["reconstruct", "p.json", "-o", "q.npy", "-o", "./q.npy"]):
            self.check_refused(envoi(*words, cwd=self.folder), 2, "two outputs")
        self.assertEqual(self.names(), ["in.txt", "p.json"])

    def test_names_of_outputs(self):
        two = write_text(self.folder / "two.txt", signal(512, seed=3))
        both = ["analyze", self.input, two, "--rate", 256, "--atoms", 2]
        self.check_refused(envoi(*both, "-o", self.out), 2, "{name}")
        self.check_refused(envoi(*both, "--json"), 2, "--json")
        self.check_refused(envoi(*self.options, "-o", self.folder / "x.xml"), 2, ".ndjson")
        self.check_refused(envoi(*self.options, "-o", self.folder / "x"), 2, ".ndjson")
        self.check_refused(envoi(*both, "-o", f"{self.folder}/x{{name}}.json", "-o", f"{self.folder}/x{{name}}.json"), 2)
        self.assertEqual(self.names(), ["in.txt", "two.txt"])
        (self.folder / "r").mkdir()
        done = envoi(*both, "-o", f"{self.folder}/r/", "-o", f"{self.folder}/{{name}}.ndjson", "-o", self.folder / "all.tsv")
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertEqual(self.names(), ["all.tsv", "in.ndjson", "in.txt", "r", "two.ndjson", "two.txt"])
        self.assertEqual(sorted(os.listdir(self.folder / "r")), ["in.json", "two.json"])
        rows = (self.folder / "all.tsv").read_text().splitlines()
        self.assertEqual([row.split("\t")[0] for row in rows], ["file", "in.txt", "in.txt", "two.txt", "two.txt"])

    def test_the_log_gains_a_line_a_file(self):
        log = self.folder / "log"
        for _ in range(2):
            envoi(*self.options, self.folder / "none.txt", "-o", self.folder / "x.tsv", "--log", log)
        lines = log.read_text().splitlines()
        self.assertEqual(len(lines), 4)
        for word in ("time=", "host=", "threads=", "seconds=", "file="):
            self.assertIn(word, lines[0])
        self.assertIn("status=0", lines[0])
        self.assertIn("status=3", lines[1])


if __name__ == "__main__":
    unittest.main()
