import assert from "node:assert/strict";
import { area } from "./area.js";
import { corners } from "./corners.js";
import { labels, summary } from "./labels.js";

const circle = { kind: "circle", radius: 2 };
const square = { kind: "square", side: 3 };
const triangle = { kind: "triangle", base: 4, height: 5 };
assert.equal(area(circle), Math.PI * 4);
assert.equal(area(square), 9);
assert.equal(area(triangle), 10);
assert.deepEqual([circle, square, triangle].map(corners), [0, 4, 3]);
assert.deepEqual(labels, { circle: "circle", square: "square", triangle: "triangle" });
assert.equal(summary([triangle, circle, triangle]), "1 x circle, 2 x triangle");
assert.throws(() => area({ kind: "hexagon" }));
