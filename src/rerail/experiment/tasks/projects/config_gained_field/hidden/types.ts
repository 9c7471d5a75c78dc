import type { Config } from "../config.js";
import { defaults } from "../defaults.js";
import { describe } from "../describe.js";
import { fromEnvironment } from "../environment.js";
import { forTests } from "../testing.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;

holds<Same<Config, { host: string; port: number; retries: number }>>();
holds<Same<typeof defaults, Config>>();
holds<Same<typeof fromEnvironment, (environment: Record<string, string | undefined>) => Config>>();
holds<Same<typeof forTests, (port: number) => Config>>();
holds<Same<typeof describe, (config: Config) => string>>();
