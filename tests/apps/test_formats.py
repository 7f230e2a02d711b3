"""Sets of several files, channels by type, bad spans and data sets, from the command line; and a run repeated from its
result."""

import json
import struct
import unittest

import numpy

from support import InFolder, envoi, signal

HEADER = """Brain Vision Data Exchange Header File Version 1.0
[Common Infos]
DataFile=a.eeg
MarkerFile=a.vmrk
DataFormat=BINARY
DataOrientation=MULTIPLEXED
NumberOfChannels=3
SamplingInterval=3906.25
[Binary Infos]
BinaryFormat=IEEE_FLOAT_32
[Channel Infos]
Ch1=Cz,,1,\u00b5V
Ch2=Pz,,1,\u00b5V
Ch3=ECG,,1,mV
"""
MARKERS = """Brain Vision Data Exchange Marker File, Version 1.0
[Marker Infos]
Mk1=New Segment,,1,1,0,20260131221005000000
Mk2=Bad Interval,hand,257,128,0
"""


class Formats(InFolder):
    def setUp(self):
        super().setUp()
        self.header = self.folder / "a.vhdr"
        self.header.write_text(HEADER, encoding="utf-8")
        (self.folder / "a.vmrk").write_text(MARKERS, encoding="utf-8")
        x = numpy.column_stack([signal(1024, seed=s) for s in range(3)])
        x.astype("<f4").tofile(self.folder / "a.eeg")

    def analyze(self, *arguments, file=None):
        process = envoi("analyze", file or self.header, "-w", 1, "-n", 1, "--json", *arguments)
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        return json.loads(process.stdout), process.stderr.decode()

    def test_types_and_exclude_choose_channels(self):
        for arguments, names in (
            ((), ["Cz", "Pz", "ECG"]),
            (("--types", "eeg"), ["Cz", "Pz"]),
            (("--exclude", "P*"), ["Cz", "ECG"]),
            (("--types", "eeg,ecg", "--exclude", "1", "--exclude", "Pz"), ["ECG"]),
        ):
            result, _ = self.analyze(*arguments)
            self.assertEqual([c["name"] for c in result["channels"]], names)
            self.assertEqual(result["source"]["format"], "brainvision")
        self.check_refused(envoi("analyze", self.header, "--types", "meg"), 2, "'meg'", "eeg, ecg")
        self.check_refused(envoi("analyze", self.header, "--exclude", "*"), 2, "no channel")

    def test_bad_spans_are_missing_unless_kept(self):
        result, said = self.analyze("-c", "Cz")
        self.assertEqual([s["missing_samples"] for s in result["segments"]], [0, 128, 0, 0])
        self.assertIn("128 samples", said)
        self.assertNotIn("bad_spans_missing", result["parameters"]["input"])
        result, said = self.analyze("-c", "Cz", "--keep-bad-spans")
        self.assertEqual([s["missing_samples"] for s in result["segments"]], [0] * 4)
        self.assertIs(result["parameters"]["input"]["bad_spans_missing"], False)

    def test_a_run_is_repeated_from_its_result(self):
        first = self.folder / "first.json"
        options = ("--types", "eeg", "--exclude", "Pz", "--keep-bad-spans", "-w", 1, "-n", 1)
        self.assertEqual(envoi("analyze", self.header, *options, "-o", first).returncode, 0)
        again = self.folder / "again.json"
        self.assertEqual(envoi("analyze", self.header, "--like", first, "-o", again).returncode, 0)
        self.assertEqual(first.read_bytes(), again.read_bytes())

    def test_a_set_without_its_samples_is_bad_input(self):
        (self.folder / "a.eeg").rename(self.folder / "b.eeg")
        self.check_refused(envoi("analyze", self.header), 3, "a.vhdr", "line 3", "a.eeg")
        self.check_refused(envoi("analyze", "-", stdin=HEADER.encode()), 3, "three files")

    def test_options_of_other_formats_are_bad_usage(self):
        self.check_refused(envoi("analyze", self.header, "--stream", "x"), 2, "--stream", "XDF")
        self.check_refused(envoi("analyze", self.header, "--dataset", "x"), 2, "--dataset", "HDF5")
        self.check_refused(envoi("analyze", self.header, "--types", "eeg,,ecg"), 2, "--types", "empty")

    def test_a_damaged_head_of_hdf5_is_one_line(self):
        """The library would print more of its own at the end of the process."""
        whole = struct.pack("<8s8BHHI", b"\x89HDF\r\n\x1a\n", 0, 0, 0, 0, 0, 8, 8, 0, 4, 16, 0)
        whole += struct.pack("<QqQqQQIIQQ", 0, -1, 2000, -1, 0, 96, 1, 0, 136, 680)
        whole += struct.pack("<BBHIQHHIQQ", 1, 0, 1, 1, 24 | 128 << 8, 17, 16, 0, 136, 680)  # too long a root
        path = self.folder / "x.h5"
        path.write_bytes(whole.ljust(2000, b"\0"))
        self.check_refused(envoi("analyze", path, "--rate", 256), 3, "x.h5", "damaged")

    def test_channels_by_samples_are_refused_with_a_hint(self):
        numpy.save(self.folder / "x.npy", numpy.zeros((20, 1000000), dtype="int8"))
        self.check_refused(envoi("analyze", self.folder / "x.npy", "--rate", 256), 3, "1000000 channels", "transpose")


if __name__ == "__main__":
    unittest.main()
