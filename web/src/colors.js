// The colours of maps, from 17 points each that are evenly spaced to the eye. Cividis looks nearly the same to
// everyone, however many kinds of cone they see with.

const kCividis =
  "00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 fee838";

export const kColors = tableOf(kCividis);

// 256 colours, [r, g, b] each.
export function tableOf(text) {
  const points = text.split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (points.length - 1);
    const low = Math.min(Math.floor(at), points.length - 2);
    return points[low].map((value, c) => Math.round(value + (at - low) * (points[low + 1][c] - value)));
  });
}
