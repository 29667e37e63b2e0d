/** The figures of a device file as quantities. */
import { DEVICE_FIGURES, type Device, type DeviceFigure, UNKNOWN } from "../config/device-schema.ts";
import { between, exactly, type Quantity, unknown } from "./quantity.ts";

export type DeviceFigures = Readonly<Record<DeviceFigure, Quantity>>;

/** bytes, bytes/s, ns, pJ/byte, writes. */
export function deviceFigures(device: Device): DeviceFigures {
  const pairs = DEVICE_FIGURES.map((name): [DeviceFigure, Quantity] => {
    const figure = device[name];
    const what = name.replaceAll("_", " ");
    if (figure === UNKNOWN) return [name, unknown(`the device file does not say its ${what}`)];
    const { value, from: least = 0, to: most = null } = figure;
    return [
      name,
      value === undefined ? between(least, most, `the device file gives a range of its ${what}`) : exactly(value),
    ];
  });
  return Object.fromEntries(pairs) as DeviceFigures;
}
