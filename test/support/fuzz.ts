import * as fc from 'fast-check';

/** Long tests run all their cases with `FUZZ=full` (`pnpm test:fuzz`), and a tenth of them otherwise. */
export const isFullFuzz = process.env['FUZZ'] === 'full';

/** How many of the `full` number of random cases to run. */
export const fuzzCases = (full: number): number => (isFullFuzz ? full : Math.ceil(full / 10));

/** The time limit of a test with `fuzzCases`, from the limit of its short form. */
export const fuzzMs = (shortMs: number): number => (isFullFuzz ? 10 * shortMs : shortMs);

/** The sample's bytes, changed after their discriminator, cut or prolonged. */
export const mutated = (sample: Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc
    .tuple(fc.array(fc.tuple(fc.nat(sample.length - 9), fc.nat(255)), { maxLength: 12 }), fc.nat(sample.length + 8), fc.boolean())
    .map(([changes, length, cuts]) => {
      const bytes = new Uint8Array(cuts ? length : sample.length);
      bytes.set(sample.subarray(0, bytes.length));
      for (const [index, value] of changes) if (8 + index < bytes.length) bytes[8 + index] = value;
      return bytes;
    });
