#!/usr/bin/env python3
"""torch.compile's time of what bench/cuda/endings.cu does in two products, and of the LM head with cross-entropy.

Prints rows like those of envoi_bench_cuda, one JSON object a line: torch_mlp.py [--json FILE]. Ends well, with a note
on standard error, where there is no torch or no GPU.
"""

import argparse
import json
import os
import statistics
import sys

ROUNDS = 15


def note(text):
    print(f"torch_mlp.py: {text}", file=sys.stderr)


def times_of(torch, call, sets):
    """Milliseconds of calls on one set after another, after a warm-up."""
    for i in range(2 * len(sets)):
        call(*sets[i % len(sets)])
    torch.cuda.synchronize()
    times = []
    for i in range(ROUNDS):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call(*sets[i % len(sets)])
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return times


def measure(torch):
    functional = torch.nn.functional
    bf16 = {"device": "cuda", "dtype": torch.bfloat16}

    def mlp(x, gate_up, down, weight):
        h = functional.rms_norm(x, (x.shape[-1],), weight, 1e-5)
        gate, up = functional.linear(h, gate_up).chunk(2, dim=-1)
        return x + functional.linear(functional.silu(gate) * up, down)

    def bare_mlp(x, gate_up, down, gated):
        functional.linear(x, gate_up)
        return functional.linear(gated, down)

    def head(x, weight, targets):
        return functional.cross_entropy(functional.linear(x, weight).float(), targets, reduction="none")

    def greedy(x, weight):
        return functional.linear(x, weight).argmax(-1)

    def noise(*shape):
        return torch.randn(*shape, **bf16)

    def peers(call, compiled_sets, bench, case, operations, bare, bare_sets):
        rows = []
        for name, run, sets in (
            ("torch.compile", torch.compile(call), compiled_sets),
            ("torch eager", call, compiled_sets),
            ("torch, the bare products", bare, bare_sets),
        ):
            try:
                times = times_of(torch, run, sets)
            except Exception as error:  # one that fails leaves the others
                note(f"{bench}, {name}: {error}")
                continue
            middle = statistics.median(times)
            rows.append(
                {
                    "bench": bench,
                    "case": case,
                    "peer": f"{name} {torch.__version__}",
                    "peer_ms": middle,
                    "peer_ms_quartile": statistics.quantiles(times, n=4)[0],
                    "peer_tflops": operations / middle * 1e-9,
                }
            )
        return rows

    with torch.no_grad():
        t, d, f = 8192, 4096, 14336
        sets = [(noise(t, d), noise(2 * f, d) / d**0.5, noise(d, f) / f**0.5, noise(d)) for _ in range(2)]
        bare_sets = [(x, gate_up, down, noise(t, f)) for x, gate_up, down, _ in sets]
        yield from peers(mlp, sets, "ending/mlp", f"T {t} D {d} F {f}", 6 * t * d * f, bare_mlp, bare_sets)
        del sets, bare_sets

        t, v = 4096, 128256
        sets = [
            (noise(t, d), noise(v, d) / d**0.5, torch.randint(0, v, (t,), device="cuda")) for _ in range(2)
        ]
        case, operations = f"{t}x{v}x{d}", 2 * t * v * d
        bare_sets = [(x, weight) for x, weight, _ in sets]
        yield from peers(head, sets, "ending/cross_entropy", case, operations, functional.linear, bare_sets)
        yield from peers(greedy, bare_sets, "ending/argmax", case, operations, functional.linear, bare_sets)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="also write the rows there")
    asked = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        note(f"no torch here ({error}), so there is no such peer")
        return 0
    if not torch.cuda.is_available():
        note("torch sees no GPU, so there is nothing to measure")
        return 0
    about = {"device": torch.cuda.get_device_name(), "commit": os.environ.get("ENVOI_COMMIT", "unknown")}
    lines = []
    for row in measure(torch):
        lines.append(json.dumps({**row, **about}))
        print(lines[-1], flush=True)
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as to:
            to.writelines(line + "\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
