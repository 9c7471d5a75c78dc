import { hasTag } from "../has.js";
import { answer, report } from "../report.js";
import { load, type Note } from "../store.js";
import { tags } from "../tags.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;

holds<Same<typeof load, () => Promise<Note[]>>>();
holds<Same<typeof tags, () => Promise<string[]>>>();
holds<Same<typeof hasTag, (tag: string) => Promise<boolean>>>();
holds<Same<Awaited<ReturnType<typeof report>> extends string ? true : false, true>>();
holds<Same<ReturnType<typeof report> extends Promise<string> ? true : false, true>>();
holds<Same<Parameters<typeof answer>, [tag: string]>>();
holds<Same<ReturnType<typeof answer> extends Promise<string> ? true : false, true>>();
