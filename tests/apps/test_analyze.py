"""What `analyze` and its neighbours say, and that they say it again."""

import json
import unittest

from support import InFolder, envoi, signal, write_text


class Analyze(InFolder):
    def setUp(self):
        super().setUp()
        self.input = write_text(self.folder / "in.txt", signal(1024))
        self.options = ["analyze", self.input, "--rate", 256, "--window", 1.5, "--hop", 0.75, "--atoms", 3]

    def test_json_on_standard_output_and_nothing_else(self):
        done = envoi(*self.options, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout, parse_constant=lambda word: self.fail(word))
        self.assertEqual((result["format"], result["version"]), ("envoi.decomposition", 1))
        self.assertEqual(
            list(result),
            ["format", "version", "program", "source", "rate_hz", "parameters", "grid", "channels", "warnings", "segments"],
        )
        self.assertNotIn(str(self.folder).encode(), done.stdout)
        out = self.folder / "o.json"
        self.assertEqual(envoi(*self.options, "-o", out).stdout, b"")
        self.assertEqual(out.read_bytes(), done.stdout)

    def test_same_bytes_again_and_with_any_number_of_threads(self):
        first = envoi(*self.options, "--json").stdout
        for threads in (1, 2, 3, 7):
            self.assertEqual(envoi(*self.options, "--json", "--threads", threads).stdout, first)

    def test_like_repeats_a_run(self):
        cases = (
            self.options,
            ["analyze", self.input, "--rate", 256],
            ["analyze", self.input, "--rate", 256, "--gabor", "--snr", 6, "--no-refine", "--precision", "double"],
            ["analyze", self.input, "--rate", 256, "--method", "omp", "--from", 1, "--to", 2.5, "--detrend", "linear"],
            ["analyze", self.input, "--rate", 256, "-n", 2]
            + ["--grid", "tc=0:1000:50smp,fc=2:40:2,lnDt=-3:-1:0.5,c=-20:20:10"],
        )
        result = self.folder / "r.json"
        for case in cases:
            with self.subTest(case=case[3:]):
                self.assertEqual(envoi(*case, "-o", result).returncode, 0)
                again = envoi("analyze", self.input, "--like", result, "--json")
                self.assertEqual(again.stdout, result.read_bytes(), again.stderr)
        envoi(*self.options, "-o", result)
        fewer = json.loads(envoi("analyze", self.input, "--like", result, "--atoms", 1, "--json").stdout)
        self.assertEqual(fewer["parameters"]["stop"]["atoms"], 1)
        self.assertEqual(fewer["parameters"]["window_s"], 1.5)
        self.check_refused(envoi("analyze", self.input, "--like", self.input), 3, "in.txt")

    def test_table(self):
        done = envoi(*self.options)
        text = done.stdout.decode()
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for word in ("time", "frequency", "duration", "chirp rate", "peak", "share", "SNR", " Hz"):
            self.assertIn(word, text)
        self.assertNotIn("\x1b", text)

    def test_plan_stops_before_the_work(self):
        done = envoi(*self.options, "--plan", "-o", self.folder / "x.json")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for word in ("scales", "atoms in the grid", "operations", "memory", "expected time"):
            self.assertIn(word, done.stdout.decode())
        self.assertEqual(self.names(), ["in.txt"])
        self.assertEqual(envoi(*self.options, "--plan", "--json").returncode, 2)  # a plan is for people
        act = envoi("analyze", self.input, "--rate", 256, "--window", 2, "--grid", "act", "--plan")
        self.assertIn("1942580", act.stdout.decode())
        self.assertIn("basis windows for 23 durations", act.stdout.decode())  # and how they are searched

    def test_act_grid_has_its_phase_fixed(self):
        grid = ["--grid", "act", "--window", 2, "-n", 1, "--json"]
        result = json.loads(envoi("analyze", self.input, "--rate", 256, *grid).stdout)
        self.assertEqual(result["parameters"]["phase"], "fixed")
        self.assertEqual(result["segments"][0]["atoms"][0]["phase_rad"], 0)
        self.assertEqual(result["parameters"]["grid"]["chirp_rate_hz_per_s"], {"first": -40, "last": 40, "step": 2})
        solved = json.loads(envoi("analyze", self.input, "--rate", 256, *grid, "--phase", "solved").stdout)
        self.assertEqual(solved["parameters"]["phase"], "solved")

    def test_si_endings(self):
        named = envoi(*self.options, "--band", "0.5:0.06k", "--durations", "50m:300000u", "--json").stdout
        plain = envoi(*self.options, "--band", "0.5:60", "--durations", "0.05:0.3", "--json").stdout
        self.assertEqual(named, plain)

    def test_standard_input(self):
        by_name = json.loads(envoi(*self.options, "--json").stdout)
        done = envoi("analyze", "-", *self.options[2:], "--json", stdin=self.input.read_bytes())
        self.assertEqual(done.returncode, 0, done.stderr)
        piped = json.loads(done.stdout)
        self.assertEqual(piped["segments"], by_name["segments"])
        self.assertEqual(piped["source"]["sha256"], by_name["source"]["sha256"])

    def test_quiet_and_verbose(self):
        self.assertEqual(envoi(*self.options, "--quiet", "--json").stderr, b"")
        verbose = envoi(*self.options, "--verbose", "--json")
        json.loads(verbose.stdout)
        self.assertIn(b"real time", verbose.stderr)

    def test_demo_finds_everything_and_writes_nothing(self):
        done = envoi("demo", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("8 of 8 events found", done.stdout.decode())
        self.assertEqual(self.names(), ["in.txt"])

    def test_help_version_devices(self):
        for arguments in ([], ["--help"], ["analyze", "--help"], ["synth", "-h"]):
            done = envoi(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn("Usage: envoi", done.stdout.decode())
            self.assertIn("Example", done.stdout.decode())
        self.assertIn(b"commit", envoi("--version").stdout)
        self.assertIn(b"cpu", envoi("devices").stdout)


if __name__ == "__main__":
    unittest.main()
