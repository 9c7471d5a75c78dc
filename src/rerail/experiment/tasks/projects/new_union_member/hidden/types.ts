import { area } from "../area.js";
import { corners } from "../corners.js";
import { labels, summary } from "../labels.js";
import { never } from "../never.js";
import type { Circle, Shape, Square, Triangle } from "../shape.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;

holds<Same<Shape, Circle | Square | Triangle>>();
holds<Same<Shape["kind"], "circle" | "square" | "triangle">>();
holds<Same<typeof area, (shape: Shape) => number>>();
holds<Same<typeof corners, (shape: Shape) => number>>();
holds<Same<typeof labels, Record<Shape["kind"], string>>>();
holds<Same<typeof summary, (shapes: readonly Shape[]) => string>>();
holds<Same<typeof never, (value: never) => never>>();
