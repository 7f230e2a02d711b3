"""Every instruction set of this processor finds the same atoms; one that is not here is refused in one line."""

import json
import re
import unittest

import numpy

from support import InFolder, envoi, signal, write_text


def instruction_sets():
    """Those that the command says it has here."""
    refusal = envoi("devices", env={"ENVOI_ISA": "abacus"}).stderr.decode()
    return re.search(r"choose one of: (.*)", refusal).group(1).split(", ")


class InstructionSets(InFolder):
    def test_winners_are_the_same(self):
        names = instruction_sets()
        self.assertGreater(len(names), 0)
        cases = (
            (512, 256.0, ("--atoms", 8)),  # transforms over the frequencies
            (150, 100.0, ("--atoms", 6, "--durations", "0.05:0.3", "--chirp-rates", "-40:40")),
            (96, 96.0, ("--atoms", 4, "--grid", "tc=0.5:95:1.5smp,fc=1:40:0.7,lnDt=-4:-1:0.5,c=-20:30:6")),
        )
        for seed, (samples, rate, options) in enumerate(cases):
            file = write_text(self.folder / f"{seed}.txt", signal(samples, rate, seed))
            found = {}
            for name in names:
                run = envoi(
                    "analyze", file, "--rate", rate, "--no-refine", *options, "--json", env={"ENVOI_ISA": name}
                )
                self.assertEqual(run.returncode, 0, run.stderr)
                result = json.loads(run.stdout)
                self.assertEqual(result["program"]["isa"], name)
                found[name] = [
                    [atom[key] for key in ("time_s", "frequency_hz", "duration_s", "chirp_rate_hz_per_s")]
                    for segment in result["segments"]
                    for atom in segment["atoms"]
                ]
            for name in names:
                with self.subTest(case=seed, isa=name):
                    self.assertGreater(len(found[name]), 2)
                    self.assertEqual(found[name], found[names[0]])

    def test_best_rows_of_a_dictionary_are_the_same(self):
        random = numpy.random.default_rng(7)
        atoms = random.normal(size=(500, 70))
        atoms[250:] = atoms[:250] * (1 + 1e-7 * random.normal(size=(250, 1)))  # nearly the same
        signals = atoms[random.integers(0, 500, 20)] + 0.01 * random.normal(size=(20, 70))
        numpy.save(self.folder / "d.npy", atoms)
        numpy.save(self.folder / "s.npy", signals)
        found = {}
        for name in instruction_sets():
            run = envoi(
                "search", self.folder / "d.npy", self.folder / "s.npy", "-k", 6, "--json", env={"ENVOI_ISA": name}
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            found[name] = [[best["index"] for best in s["best"]] for s in json.loads(run.stdout)["signals"]]
        first = next(iter(found.values()))
        self.assertEqual([len(best) for best in first], [6] * 20)
        for name, best in found.items():
            with self.subTest(isa=name):
                self.assertEqual(best, first)

    def test_devices_say_which_and_why(self):
        names = instruction_sets()
        text = envoi("devices", env={"ENVOI_ISA": ""}).stdout.decode()
        self.assertIn(f"instruction set {names[0]}, the best of this processor", text)
        for name in names:
            self.assertIn(name, text)
            forced = envoi("devices", env={"ENVOI_ISA": name.upper()})
            self.assertEqual(forced.returncode, 0, forced.stderr)
            self.assertIn(f"instruction set {name}, named by ENVOI_ISA", forced.stdout.decode())

    def test_one_that_is_not_here_is_refused(self):
        file = write_text(self.folder / "in.txt", signal(128))
        before = self.names()
        for arguments in (("devices",), ("analyze", file, "--rate", 256, "-o", self.folder / "out.json"), ("demo",)):
            run = envoi(*arguments, env={"ENVOI_ISA": "abacus"}, cwd=self.folder)
            self.check_refused(run, 2, "ENVOI_ISA", "abacus", "choose one of: ")
            self.assertEqual(self.names(), before)


if __name__ == "__main__":
    unittest.main()
