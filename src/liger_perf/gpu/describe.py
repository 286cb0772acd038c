"""Says what device there is: `python -m liger_perf.gpu.describe --device cuda`. One JSON line; exit 3 where none."""

from __future__ import annotations

import argparse
import sys

import msgspec

from liger_perf.gpu.channel import Channel
from liger_perf.gpu.device import NoGpu, open_device
from liger_perf.model.options import DeviceKind

EXIT_NO_DEVICE = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", type=DeviceKind, required=True)
    options = parser.parse_args()
    _, writer = Channel.private_streams()
    try:
        facts = open_device(options.device, "", "").describe(measure_bandwidth=True)
    except NoGpu as error:
        print(error, file=sys.stderr)
        sys.exit(EXIT_NO_DEVICE)
    writer.write(msgspec.json.encode(facts) + b"\n")
    writer.flush()


if __name__ == "__main__":
    main()
