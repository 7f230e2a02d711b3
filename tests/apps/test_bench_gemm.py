"""envoi bench gemm refuses what cannot be, and says where there is no GPU; envoi devices names the GPUs or says why not."""

import json
import unittest

from support import InFolder, envoi

NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}  # none, also where there is one


class BenchGemm(InFolder):
    def test_bad_arguments_are_usage_errors(self):
        for arguments, words in (
            (("gemm", 128, 128), ("K",)),
            (("gemm", 128, 0, 128), ("N", "0")),
            (("gemm", 128, "many", 128), ("N", "many")),
            (("gemm", 2**25, 128, 128), ("16777216",)),
            (("gemm", 128, 127, 128, "--ending", "swiglu"), ("127", "even")),
            (("gemm", 128, 128, 128, "--ending", "couplet"), ("--ending", "couplet", "cross_entropy")),
            (("gemm", 128, 128, 128, "--type", "int8"), ("--type", "int8", "bf16")),
            (("conv", 128, 128, 128), ("conv", "gemm")),
            ((), ("WHAT",)),
        ):
            with self.subTest(arguments=arguments):
                self.check_refused(envoi("bench", *arguments, env=NO_GPU), 2, *words)

    def test_without_a_gpu_it_is_the_device(self):
        for options in ((), ("--ending", "swiglu", "--type", "fp16"), ("--type", "fp32", "--json")):
            with self.subTest(options=options):
                run = envoi("bench", "gemm", 64, 64, 64, *options, env=NO_GPU)
                self.assertEqual(run.stdout, b"")
                line = run.stderr.decode()
                self.check_refused(run, 4)
                self.assertTrue("no NVIDIA" in line or "this build has no CUDA" in line, line)

    def test_with_a_gpu_the_numbers_agree(self):
        run = envoi("bench", "gemm", 512, 512, 512, "--json")
        if run.returncode == 4:
            self.skipTest(run.stderr.decode().strip())
        self.assertEqual((run.returncode, run.stderr), (0, b""))
        row = json.loads(run.stdout)
        self.assertAlmostEqual(row["tflops"] * row["ms"] * 1e9 / (2 * 512**3), 1, delta=1e-3)

    def test_devices_say_why_there_is_no_gpu(self):
        text = envoi("devices", env=NO_GPU).stdout.decode()
        self.assertRegex(text, r"(?m)^gpu  none: (no NVIDIA|this build has no CUDA)")


if __name__ == "__main__":
    unittest.main()
