/** Long tests run all their cases with `FUZZ=full` (`pnpm test:fuzz`), and a tenth of them otherwise. */
export const isFullFuzz = process.env['FUZZ'] === 'full';

/** How many of the `full` number of random cases to run. */
export const fuzzCases = (full: number): number => (isFullFuzz ? full : Math.ceil(full / 10));

/** The time limit of a test with `fuzzCases`, from the limit of its short form. */
export const fuzzMs = (shortMs: number): number => (isFullFuzz ? 10 * shortMs : shortMs);
