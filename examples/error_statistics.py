# SPDX-License-Identifier: Apache-2.0
"""How far results are off the exact sums: FP8 by wgmma on an H100 against mma on a B200, K 1024. Draws errors.png."""
import warpbit

DEPTH = 1024
FORMS = [("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3", "sm_90a"),
         ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_100")]


def compare(forms=FORMS, depth=DEPTH, cases=16):
    instructions = [warpbit.Instruction(form, target) for form, target in forms]
    chains = [warpbit.Computation(i, depth=depth) for i in instructions]
    return warpbit.compare_generated(chains, cases, profile="ordinary", depth=depth)


def draw(comparison, path):
    import matplotlib.pyplot as plt
    bins = comparison.histogram
    labels = [f"{b.up_to:g}" for b in bins]
    width = 0.8 / len(comparison.results)
    for n, (name, result) in enumerate(zip(comparison.names, comparison.results)):
        counts = [100 * b.counts[n] / result.statistics.elements for b in bins]
        places = [i + n * width for i in range(len(bins))]
        plt.bar(places, counts, width, label=f"{name}: bias {result.statistics.bias:.3g} ulp")
    plt.xticks(range(len(bins)), labels, rotation=90)
    plt.xlabel(f"|error| up to, in ulp of {comparison.format}")
    plt.ylabel("% of elements")
    plt.legend()
    plt.tight_layout()
    plt.savefig(path)


if __name__ == "__main__":
    result = compare()
    print(result)
    draw(result, "errors.png")
