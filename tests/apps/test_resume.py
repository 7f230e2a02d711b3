"""--resume: runs that were killed at any moment go on from what they had finished, to the same bytes."""

import itertools
import os
import random
import resource
import signal as signals
import subprocess
import time
import unittest

from support import ENVOI, FAST, InFolder, envoi, signal, write_text


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

    def interrupted(self, size, line=None, after=0.0):
        """Kills the run when it has kept so many bytes, or so long after; gives its exit code."""
        process = subprocess.Popen(
            [ENVOI, *map(str, line or [*self.line, "-o", self.out, "--resume"])], stderr=subprocess.PIPE
        )
        while process.poll() is None and self.kept() < size:
            time.sleep(0.0005)
        time.sleep(after)
        process.kill()
        process.communicate()
        return process.returncode

    def kept(self):
        try:
            return self.partial.stat().st_size
        except FileNotFoundError:
            return 0

    def test_killed_at_random_moments_until_it_is_done(self):
        moments = random.Random(3)
        kills, size = 0, 0
        for _ in range(60):
            if self.interrupted(size + moments.uniform(0, 12000), after=moments.uniform(0, 0.005)) == 0:
                break
            kills += 1
            # Nothing that was kept is lost, but for a record that was torn.
            self.assertGreaterEqual(self.kept(), size - 8192)
            size = self.kept()
            self.assertFalse(self.out.exists())
        done = envoi(*self.line, "-o", self.out, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(kills, 2)
        self.assertEqual(self.out.read_bytes(), self.whole)
        self.assertEqual(self.visible(), ["in.txt", "out.json"])

    def test_a_finished_part_is_not_computed_again(self):
        # What is kept after an interruption is not appended again: the file only grows by what was missing.
        self.assertNotEqual(self.interrupted(12000), 0)
        kept = self.partial.read_bytes()
        self.assertNotEqual(self.interrupted(len(kept) + 12000), 0)
        more = self.partial.read_bytes()
        # All but a torn record is still there.
        self.assertEqual(more[: len(kept) - 8192], kept[: len(kept) - 8192])
        names = [more[i : i + 40] for i in range(len(more)) if more[i + 16 : i + 24] == b" window "]
        self.assertGreater(len(names), 10)
        self.assertEqual(len(names), len(set(names)))

    def test_a_page_alone_keeps_its_parts_beside_it_and_touches_no_others(self):
        others = {".partial": b"mine", ".5.partial": b"mine too"}
        for name, text in others.items():
            (self.folder / name).write_bytes(text)
        self.partial = self.folder / "x.html.partial"
        line = [*self.line, "-o", str(self.folder / "x.html"), "--resume"]
        self.interrupted(2000, line)
        self.assertTrue(self.partial.exists() or (self.folder / "x.html").exists())
        self.assertEqual(envoi(*line, cwd=self.folder).returncode, 0)
        self.assertEqual(self.visible(), ["in.txt", "x.html"])
        for name, text in others.items():
            self.assertEqual((self.folder / name).read_bytes(), text)

    def test_parts_of_another_run_are_refused(self):
        self.assertNotEqual(self.interrupted(12000), 0)
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
        for options in (["--whole", "--density", "3"], ["--across", "joint"]):
            line = ["analyze", self.input, "--rate", "256", "--band", "4:40", "--durations", "0.03:0.1", "--max-loss", "0.3"]
            line += options if "--whole" in options else ["--window", "2", "--atoms", "2", *options]
            self.assertEqual(envoi(*line, "-o", self.folder / "plain.json").returncode, 0)
            for _ in range(3):
                self.interrupted(self.kept() + 3000, [*line, "-o", self.out, "--resume"])
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


if __name__ == "__main__":
    unittest.main()
