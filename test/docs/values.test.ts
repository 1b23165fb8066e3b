import { readIdempotency } from '@sluice/trading/api/endpoints/idempotency.ts';
import { partsPerMillion, rawOfText } from '@sluice/trading/quote/amounts.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { venueTable } from '@sluice/shared/wire/venues.ts';
import { venues } from '@sluice/venues/registry.ts';
import { asyncApiDocument } from '@sluice/shared/wire/documents/openapi/asyncapi.ts';
import { openApiDocument } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { decimalPattern, percentPattern, RequestedRaw, upToHundredPattern, upToTenthPattern } from '@sluice/shared/wire/values/values.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const options = { version: '1.0.0', plans: Object.values(defaultPlans) };
const openApi = openApiDocument(endpoints, options);
const asyncApi = asyncApiDocument(options);

/** Texts that the code does not restrict: what people, creators of tokens and nodes wrote, and whole files. */
const freeTexts =
  /\/properties\/(message|reason|name|symbol|uri)(\/anyOf\/0)?$|\/properties\/errors\/items$|\/content\/(text|image|application~octet-stream)[^/]*(~[^/]*)?\/schema$/;
/** Any number: other programs multiply by the first one, which is in the mint; the others are profits and losses, what went into a paper wallet, and what a filter compares. */
const freeNumbers =
  /\/properties\/(multiplier|startUiAmount|resultSol|resultPct\/anyOf\/0|realizedSol|(unrealizedSol|profitPct)\/anyOf\/0|fields\/additionalProperties\/anyOf\/1)$/;

interface Schema {
  readonly [keyword: string]: unknown;
}

/** The schemas of a document that bound nothing. */
function* unbounded(value: unknown, path: string): Generator<string> {
  if (typeof value !== 'object' || value === null || /\/(examples?|value)$/.test(path)) return;
  const {
    type,
    enum: values,
    const: constant,
    pattern,
    format,
    maxLength,
    anyOf,
    minimum,
    exclusiveMinimum,
    maximum,
    maxItems,
  } = value as Schema;
  const bounds = {
    string: [values, constant, pattern, format, maxLength, anyOf].some((one) => one !== undefined) || freeTexts.test(path),
    number: minimum !== undefined || exclusiveMinimum !== undefined || freeNumbers.test(path),
    integer: minimum !== undefined && maximum !== undefined,
    array: maxItems !== undefined,
  };
  if (typeof type === 'string' && type in bounds && !bounds[type as keyof typeof bounds]) yield `${type} ${path}`;
  for (const [name, part] of Object.entries(value)) yield* unbounded(part, `${path}/${name.replaceAll('/', '~')}`);
}

describe('the values in the documents', () => {
  it.each([
    ['OpenAPI', { paths: openApi['paths'], components: openApi['components'] }],
    ['AsyncAPI', { components: asyncApi['components'] }],
  ])('are all bounded in %s', (_name, document) => {
    expect([...unbounded(document, '')]).toEqual([]);
    expect(JSON.stringify(document)).not.toContain('"documented"');
  });

  it('name the venues of the registry', () => {
    const named = (has: (venue: (typeof venues)[number]) => boolean) => ['auto', ...venues.filter(has).map(({ name }) => name)];
    const documented = (path: string): unknown =>
      (openApi['paths'] as Record<string, { post: { requestBody: { content: Record<string, { schema: Schema }> } } }>)[path]!.post
        .requestBody.content['application/json']!.schema['properties'];
    expect(documented('/quote')).toMatchObject({ pool: { enum: named(({ quoting }) => quoting !== null) } });
    expect(documented('/trade/buy')).toMatchObject({ pool: { enum: named(({ signing }) => signing !== null) } });
  });

  it('say of each venue what the registry says', () => {
    const stated = Object.entries(venueTable).flatMap(([name, { read }]) => (read === null ? [] : [[name, read]]));
    expect(stated).toEqual(
      venues.map(({ name, needsTransaction, curves, quoting, signing }) => [
        name,
        { logsTrades: !needsTransaction, curves: curves !== null, quoted: quoting !== null, traded: signing !== null },
      ]),
    );
  });
});

/** Texts near the edges of a form: its own characters in any order. */
const near = (characters: string, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...Array.from(characters)), minLength: 1, maxLength });
/** The pattern and the code agree about each text. */
const agree = (pattern: string, texts: fc.Arbitrary<string>, accepts: (text: string) => boolean) => {
  const form = new RegExp(pattern);
  fc.assert(
    fc.property(texts, (text) => {
      expect([text, form.test(text)]).toEqual([text, accepts(text)]);
    }),
    { numRuns: 3_000 },
  );
};

describe('the patterns in the documents', () => {
  it('of a percentage', () => {
    const percent = fc.oneof(
      near('01.%', 9),
      near('019.', 8).map((text) => `${text}%`),
    );
    agree(percentPattern, percent, (text) => partsPerMillion(text) !== null);
    for (const text of ['100%', '100.0000%', '0.0001%', '050%', '005.5%']) expect(text).toMatch(new RegExp(percentPattern));
  });

  it('of a raw amount', () => {
    const { documented } = RequestedRaw('') as unknown as { readonly documented: { readonly pattern: string } };
    const top = 18446744073709551615n;
    const texts = fc.oneof(
      near('0189', 20),
      fc.bigInt({ min: top - 2_000n, max: top + 2_000n }).map(String),
      fc.bigInt({ min: 0n, max: 99999999999999999999n }).map(String),
    );
    agree(documented.pattern, texts, (text) => BigInt(text) > 0n && BigInt(text) <= top);
  });

  it('of the numbers of PumpPortal clients', () => {
    const upTo = (max: string, places: number) => (text: string) => rawOfText(text, places, rawOfText(max, places)) !== null;
    agree(decimalPattern, near('05.e-+', 9), (text) => rawOfText(text, 9) !== null && /[1-9]/.test(text.replace(/e.*$/i, '')));
    agree(upToHundredPattern, near('01.9', 10), upTo('100', 2));
    agree(upToTenthPattern, near('01.9', 14), upTo('0.1', 9));
  });

  it('of an Idempotency-Key', () => {
    const buy = (openApi['paths'] as unknown as Record<string, { post: { parameters: { name: string; schema: { pattern: string } }[] } }>)[
      '/trade/buy'
    ]!;
    const { pattern } = buy.post.parameters.find(({ name }) => name === 'Idempotency-Key')!.schema;
    const texts = fc.oneof(
      near('"a ', 6),
      fc.integer({ min: 250, max: 260 }).chain((length) => fc.constantFrom('a'.repeat(length), `"${'a'.repeat(length)}"`)),
    );
    agree(pattern, texts, (text) => readIdempotency(text, '', {}).ok);
  });
});
