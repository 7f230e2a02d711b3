"""Every way to ask wrongly, or to give a bad file, has its exit code and its one line."""

import struct
import unittest

import numpy

from support import InFolder, envoi, signal, write_text


class Usage(InFolder):
    def setUp(self):
        super().setUp()
        self.input = write_text(self.folder / "in.txt", signal(512))

    def refused(self, code, *arguments, words=(), rate=256, file=None):
        before = self.names()
        out = self.folder / "out.json"
        given = ["--rate", rate] if rate is not None else []
        with self.subTest(arguments=arguments, file=str(file)):
            self.check_refused(envoi("analyze", file or self.input, *given, *arguments, "-o", out), code, *words)
            self.assertEqual(self.names(), before)

    def test_options(self):
        for option, values in {
            "--rate": ("0", "-5", "nan", "inf", "abc", "1e999", "20kk", "", "0x10", "1 2"),
            "--band": ("40:0.5", "5", "5:5", "a:b", "1:2:3", "0:129", "-1:20", "nan:3", "1:inf", ":"),
            "--durations": ("0:1", "-1:1", "1:0.5", "0.1", "1e9:1e12"),
            "--chirp-rates": ("5:-5", "x"),
            "--max-loss": ("0", "1", "-0.1", "nan", "2"),
            "--atoms": ("0", "-1", "1.5", "many", "1e300"),
            "--snr": ("nan", "inf", "loud"),
            "--energy-left": ("0", "1", "7", "nan"),
            "--noise": ("0", "1", "-1"),
            "--method": ("mpp", ""),
            "--window": ("0", "-1", "nan", "100", "1m", "all"),
            "--hop": ("0", "-1", "100"),
            "--detrend": ("cubic",),
            "--missing": ("keep",),
            "--threads": ("0", "-1", "1.5", "100000"),
            "--precision": ("half",),
            "--phase": ("loose",),
            "--device": ("abacus",),
            "--grid": (
                "",
                "acts",
                "tc=0:1:0.1",
                "tc=0:1,fc=1:2:1,lnDt=-2:-1:1,c=0:0:1",
                "tc=0:1:0,fc=1:2:1,lnDt=-2:-1:1,c=0:0:1",
                "tc=0:1:-1,fc=1:2:1,lnDt=-2:-1:1,c=0:0:1",
                "tc=1:0:1,fc=1:2:1,lnDt=-2:-1:1,c=0:0:1",
                "tc=0:1:1,fc=1:2:1,lnDt=-2:-1:1,c=0:0:1,c=0:0:1",
                "tc=0:1:1,fc=1:2:1,lnDt=-2:-1:1,q=0:0:1",
                "tc=0:1:1,fc=1:400:1,lnDt=-2:-1:1,c=0:0:1",
                "tc=0:1:nan,fc=1:2:1,lnDt=-2:-1:1,c=0:0:1",
            ),
            "--from": ("later", "nan"),
            "--column": ("9", "nobody"),
            "--channels": ("9", "nobody", "", "1,,2"),
            "--format": ("mp3",),
        }.items():
            for value in values:
                self.refused(2, f"{option}={value}", rate=None if option == "--rate" else 256)
        self.refused(2, "--from", 2, "--to", 1)
        self.refused(2, "--window", "whole", "--hop", 1)
        self.refused(2, rate=None, words=("--rate",))
        self.refused(4, "--device", "cuda", words=("CUDA",))
        self.refused(4, "--device", "cuda:3")

    def test_grids_too_large_are_refused_with_their_size(self):
        self.refused(2, "--grid", "tc=0:511:0.1smp", words=("A:B:STEP",))
        huge = "tc=0:2:0.0001,fc=1:100:0.01,lnDt=-3:0:0.01,c=-100:100:1"
        self.refused(2, "--grid", huge, words=("atoms", "GB", "--force"))
        plan = envoi("analyze", self.input, "--rate", 256, "--grid", huge, "--plan")
        self.assertEqual(plan.returncode, 0, plan.stderr)

    def test_unknown_words_get_a_hint(self):
        self.check_refused(envoi("analyze", self.input, "--bnad", "1:2"), 2, "--bnad", "did you mean --band?")
        self.check_refused(envoi("anlyze", self.input), 2, "did you mean analyze?")
        self.check_refused(envoi("analyze"), 2, "FILE")
        self.check_refused(envoi("analyze", self.input, "--rate"), 2, "--rate")
        self.check_refused(envoi("analyze", self.input, "--rate", 1, "--rate", 2), 2, "--rate")

    def test_files(self):
        files = {
            "empty.txt": b"",
            "blank.txt": b"\n\n\n",
            "words.txt": b"there is\nno number here\n",
            "ragged.txt": b"1 2\n3\n4 5 6\n" * 20,
            "binary.txt": bytes(range(256)) * 20,
            "one.txt": b"1.5\n",
            "infinite.txt": b"1\n2\ninf\n4\n" * 20,
            "empty.edf": b"",
            "short.edf": b"0       " + b" " * 100,
            "junk.edf": b"0       " + b"x" * 2000,
            "junk.wav": b"RIFF" + struct.pack("<I", 0xFFFFFFFF) + b"WAVEfmt " + bytes(40),
            "junk.npy": b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }\n",
            "odd.f64": bytes(1001),
        }
        for name, content in files.items():
            path = self.folder / name
            path.write_bytes(content)
            self.refused(3, file=path, words=(name,), rate=None if name.endswith((".edf", ".wav")) else 256)
        self.refused(3, file=self.folder / "none.edf", words=("none.edf",))
        self.refused(3, file=self.folder, words=(self.folder.name,))

    def test_lying_edf_headers(self):
        def header(records=b"1", signals=b"1", length=b"512", duration=b"1", samples=b"128", low=b"-1", high=b"1"):
            fields = [(b"0", 8), (b"x", 80), (b"x", 80), (b"01.01.00", 8), (b"00.00.00", 8), (length, 8), (b"", 44)]
            fields += [(records, 8), (duration, 8), (signals, 4), (b"Cz", 16), (b"", 80), (b"uV", 8), (low, 8), (high, 8)]
            fields += [(b"-32768", 8), (b"32767", 8), (b"", 80), (samples, 8), (b"", 32)]
            return b"".join(text.ljust(width) for text, width in fields)

        data = numpy.arange(128, dtype="<i2").tobytes()
        path = self.folder / "x.edf"
        path.write_bytes(header() + data)
        self.assertEqual(envoi("analyze", path, "--json").returncode, 0)
        for lie in (
            {"signals": b"-1"},
            {"signals": b"9999"},
            {"samples": b"-128"},
            {"samples": b"99999999"},
            {"samples": b"0"},
            {"duration": b"-1"},
            {"duration": b"nan"},
            {"length": b"99999999"},
            {"high": b"-1"},
            {"records": b"-7"},
        ):
            path.write_bytes(header(**lie) + data)
            self.refused(3, file=path, rate=None, words=("x.edf",))

    def test_dull_signals_are_no_errors(self):
        for name, samples in {"equal": numpy.full(512, 7.0), "zero": numpy.zeros(512)}.items():
            path = write_text(self.folder / f"{name}.txt", samples)
            done = envoi("analyze", path, "--rate", 256, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b'"stop_reason": "silence"', done.stdout)
        gaps = signal(1024)
        gaps[600] = numpy.nan
        path = write_text(self.folder / "gaps.txt", gaps)
        done = envoi("analyze", path, "--rate", 256, "--window", 2, "--atoms", 2, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b'"stop_reason": "missing"', done.stdout)
        self.assertIn(b"envoi: warning: ", done.stderr)

    def test_several_files_one_bad(self):
        bad = self.folder / "bad.txt"
        bad.write_text("no numbers\n")
        none = self.folder / "none.txt"
        tsv = self.folder / "all.tsv"
        done = envoi("analyze", self.input, bad, none, "--rate", 256, "--atoms", 2, "-o", tsv)
        self.assertEqual(done.returncode, 3)
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 3, lines)
        self.assertIn("bad.txt", lines[0])
        self.assertIn("none.txt", lines[1])
        self.assertIn("2 of 3 files failed", lines[2])
        self.assertEqual(len(tsv.read_text().splitlines()), 3)

    def test_synth_refuses(self):
        out = self.folder / "s.npy"
        for arguments in (
            ["--rate", 0],
            ["--seconds", -1],
            ["--seconds", "1G"],
            ["--snr", 3, "--sigma", 1],
            ["--chirplet", "tc=1"],
            ["--chirplet", "tc=1,fc=2,Dt=0"],
            ["--chirplet", "tc=1,fc=2,Dt=1,zz=3"],
            ["--count", 0],
            ["--band", "0:1000"],
            ["--band", "10:10.1", "--chirp-rates", "500:600"],
        ):
            with self.subTest(arguments=arguments):
                self.check_refused(envoi("synth", "-o", out, *arguments), 2)
        self.assertEqual(self.names(), ["in.txt"])


if __name__ == "__main__":
    unittest.main()
