/** How a service is reached. */
export interface Config {
  host: string;
  port: number;
  /** How often a failed request is tried again: 3 unless `RETRIES` says otherwise, 0 in tests. */
  retries: number;
}
