"""Our filters and our resampling against SciPy's, of the same design. Needs condition_signal in $ENVOI_BUILD/tests;
skipped, by name, without scipy."""
import fractions
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import scipy.signal
except ImportError as missing:
    print(f"skipped: condition_oracle needs {missing.name}")
    sys.exit(0)

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("ENVOI_BUILD", os.path.join(ROOT, "build", "release"))
TOOL = os.path.join(BUILD, "tests", "condition_signal")


def ours(folder, x, rate, *words):
    path = os.path.join(folder, "x.txt")
    numpy.savetxt(path, x, fmt="%.17g")
    text = subprocess.run([TOOL, path, repr(rate), *words], check=True, capture_output=True).stdout
    return numpy.array([float(line) for line in text.split()])


def settling(poles):
    return int(numpy.ceil(numpy.log(1000) / -numpy.log(numpy.max(numpy.abs(poles)))))


def sine_at(end, frequency, rate):
    """The sine of that frequency that fits `end` best, beside a constant; as a function of the sample's index in it."""
    w = 2 * numpy.pi * frequency / rate
    i = numpy.arange(len(end))
    if len(end) * w < 2 * numpy.pi:
        return numpy.zeros_like
    basis = numpy.column_stack([numpy.ones(len(end)), numpy.cos(w * i), numpy.sin(w * i)])
    a, b = numpy.linalg.lstsq(basis, end, rcond=None)[0][1:]
    return lambda k: a * numpy.cos(w * k) + b * numpy.sin(w * k)


def filtered(kind, frequency, x, rate):
    """The documented filter by SciPy, its ends extended as documented."""
    if kind != "notch":
        sos = scipy.signal.butter(4, frequency, "highpass" if kind == "high" else "lowpass", fs=rate, output="sos")
        return scipy.signal.sosfiltfilt(sos, x, padlen=min(settling(scipy.signal.sos2zpk(sos)[1]), len(x) - 1))
    b, a = scipy.signal.iirnotch(frequency, 30, fs=rate)
    n = min(settling(numpy.roots(a)), len(x) - 1)
    k = numpy.arange(1.0, n + 1)
    head, tail = sine_at(x[: n + 1], frequency, rate), sine_at(x[-n - 1 :], frequency, rate)
    before = 2 * (x[0] - head(0.0 * k)) - (x[1 : n + 1] - head(k)) + head(-k)
    after = 2 * (x[-1] - tail(0.0 * k + n)) - (x[-2 : -n - 2 : -1] - tail(n - k)) + tail(n + k)
    extended = numpy.concatenate([before[::-1], x, after])
    return scipy.signal.filtfilt(b, a, extended, padtype=None)[n : n + len(x)]


def main():
    random = numpy.random.default_rng(5)
    checks = failed = 0

    def check(name, mine, theirs, tolerance):
        nonlocal checks, failed
        checks += 1
        if len(mine) != len(theirs):
            failed += 1
            print(f"FAILED {name}: {len(mine)} samples, SciPy has {len(theirs)}")
            return
        error = numpy.max(numpy.abs(mine - theirs)) / numpy.max(numpy.abs(theirs))
        if not error <= tolerance:
            failed += 1
            print(f"FAILED {name}: off by {error:.3g} of the largest, more than {tolerance}")

    with tempfile.TemporaryDirectory() as folder:
        for rate in (128.0, 200.0, 1000.0, 44100.0):
            for count in (7, 1000, 20001):
                x = 5 + numpy.cumsum(random.normal(size=count)) / 10 + random.normal(size=count)
                for kind, frequency in (
                    ("high", 0.0025 * rate), ("high", 0.3 * rate), ("low", 0.01 * rate), ("low", 0.45 * rate),
                    ("notch", 0.05 * rate), ("notch", 0.25 * rate),
                ):
                    check(f"{kind} {frequency} at {rate} Hz, {count}", ours(folder, x, rate, f"{kind}={frequency!r}"),
                          filtered(kind, frequency, x, rate), 1e-7)
                expected = x
                for kind, frequency in (("notch", 0.1), ("notch", 0.15), ("high", 0.01), ("low", 0.2)):
                    expected = filtered(kind, frequency * rate, expected, rate)
                check(f"all at {rate} Hz, {count}",
                      ours(folder, x, rate, f"high={0.01 * rate!r}", f"low={0.2 * rate!r}", f"notch={0.1 * rate!r}",
                           f"notch={0.15 * rate!r}"), expected, 1e-7)

        for old, new in ((200, 100), (200, 400), (256, 250), (44100, 48000), (12.8, 100), (1000, 7), (99.9, 128)):
            ratio = fractions.Fraction(str(new)) / fractions.Fraction(str(old))
            up, down = ratio.numerator, ratio.denominator
            most = max(up, down)
            taps = scipy.signal.firwin(2 * 32 * most + 1, 0.9 / most, window=("kaiser", scipy.signal.kaiser_beta(100)))
            x = random.normal(size=int(3000 * max(1, old / new)) + 1)
            theirs = scipy.signal.resample_poly(x, up, down, window=taps)
            mine = ours(folder, x, float(old), f"rate={new!r}")
            if len(mine) == len(theirs):  # SciPy takes zeros beyond the ends
                edge = int(numpy.ceil(33 * max(1, new / old)))
                mine, theirs = mine[edge:-edge], theirs[edge:-edge]
            check(f"{old} to {new} Hz", mine, theirs, 1e-4)

    print(f"condition_oracle: {checks - failed} of {checks} agree with SciPy {scipy.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
