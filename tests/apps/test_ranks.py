"""envoi-mpi: 1, 2 and 4 ranks write what envoi writes, and end together whatever happens to one."""

import os
import pathlib
import shutil
import subprocess
import time
import unittest

from support import ENVOI, FAST, InFolder, envoi, signal, write_text


MPI = pathlib.Path(ENVOI).with_name("envoi-mpi")


@unittest.skipUnless(MPI.exists() and shutil.which("mpirun"), "MPI is not installed, so that envoi-mpi was not built")
class Ranks(InFolder):
    def mpi(self, ranks, *arguments, **env):
        environment = {**self.environment(), **env}
        return subprocess.run(self.line(ranks, *arguments), capture_output=True, timeout=100, check=False, env=environment)

    @staticmethod
    def environment():
        # Sanitized builds: what MPI itself leaves allocated is not ours.
        return {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "COLUMNS": "200"}

    @staticmethod
    def line(ranks, *arguments):
        more = ["--oversubscribe"] if b"Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True).stdout else []
        return ["mpirun", *more, "-n", str(ranks), str(MPI), *map(str, arguments)]

    def setUp(self):
        super().setUp()
        # One long, with several channels; several short.
        self.files = [
            write_text(self.folder / f"f{i}.txt", *[signal(256 * seconds, seed=i + 10 * c) for c in range(3)])
            for i, seconds in enumerate((12, 3, 2, 4, 2))
        ]

    def test_any_number_of_ranks_writes_the_same_bytes(self):
        for files, options in (
            (self.files, FAST),
            (self.files[:1], FAST),
            (self.files[:1], [*FAST, "--across", "joint"]),
            (self.files[:2], ["--rate", "256", "--band", "4:40", "--durations", "0.03:0.1", "--max-loss", "0.3", "--whole", "--density", "3"]),
        ):
            outputs = {}
            counts = (0, 1, 2, 4) if options is FAST and len(files) > 1 else (0, 2, 4)
            for ranks in counts:
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
            for ranks in counts[1:]:
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
