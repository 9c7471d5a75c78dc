import { address, type Address } from "../address.js";
import { host, next } from "../free.js";
import { port } from "../port.js";
import { failure, success, type Result } from "../result.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;

holds<Same<typeof port, (text: string) => Result<number, string>>>();
holds<Same<typeof address, (text: string) => Result<Address, string>>>();
holds<Same<Address, { host: string; port: number }>>();
holds<Same<typeof next, (text: string) => number>>();
holds<Same<typeof host, (text: string) => string>>();
holds<Same<typeof success, <T>(value: T) => { ok: true; value: T }>>();
holds<Same<typeof failure, <E>(error: E) => { ok: false; error: E }>>();
holds<Same<Result<1, 2>, { ok: true; value: 1 } | { ok: false; error: 2 }>>();
