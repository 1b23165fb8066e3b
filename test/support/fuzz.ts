/** Long tests run all their cases with `FUZZ=full` (`pnpm test:fuzz`), and a tenth of them otherwise. */
export const isFullFuzz = process.env['FUZZ'] === 'full';

/** How many of the `full` number of random cases to run. */
export const fuzzCases = (full: number): number => (isFullFuzz ? full : Math.ceil(full / 10));
