/** Work that a timer starts. `run` returns its report, which is logged once. */
export interface Job<D> {
  readonly schedule: string;
  run(deps: D): Promise<Readonly<Record<string, unknown>>>;
}
