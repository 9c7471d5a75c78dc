import type { Shape } from "./shape.js";

/** What each kind of shape is called: its own name. */
export const labels: Record<Shape["kind"], string> = {
  circle: "circle",
  square: "square",
};

/** `3 x circle, 1 x square`: the kinds that are there, in the order of the labels. */
export function summary(shapes: readonly Shape[]): string {
  const kinds: Shape["kind"][] = ["circle", "square", "triangle"];
  return kinds
    .map((kind) => ({ kind, count: shapes.filter((shape) => shape.kind === kind).length }))
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => `${count} x ${labels[kind]}`)
    .join(", ");
}
