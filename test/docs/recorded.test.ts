import { readFileSync } from 'node:fs';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { renderDocuments } from '@sluice/site/docs/render.ts';
import recordedFile from '@sluice/site/docs/recorded-answers.json' with { type: 'json' };
import { eventSchemas } from '@sluice/shared/wire/events/events.ts';
import { exampleOf } from '@sluice/shared/wire/documents/openapi/example.ts';
import type { Recorded } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { exampleMint } from '@sluice/shared/wire/values/values.ts';
import { dialectSchemas } from '@sluice/shared/wire/stream/pumpportal.ts';
import { EventFrame, noticeSchemas, replySchemas } from '@sluice/shared/wire/stream/replies.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import type { TSchema } from 'typebox';
import { expect, it } from 'vitest';

/** What `pnpm record:answers` recorded from a gateway on simnet, and what the documentation shows of it. */
const recorded: Recorded = recordedFile;
/** Their answers are the documents themselves. */
const notRecorded: ReadonlySet<string> = new Set(['openApi', 'asyncApi', 'docsSearch']);
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string };
const documents = renderDocuments({ plans: defaultPlans, assets: [] });

const answers = endpoints.flatMap(({ id, answer, batch }): [string, TSchema][] => {
  const schema = batch?.answer ?? answer;
  return schema === null || notRecorded.has(id) ? [] : [[id, schema]];
});
const named = (schemas: Readonly<Record<string, TSchema>>, nameOf: (name: string) => string): [string, TSchema][] =>
  Object.entries(schemas).map(([name, schema]) => [nameOf(name), schema]);
const messages = [
  ...named(replySchemas, (name) => `${name}Reply`),
  ...named(noticeSchemas, (name) => name),
  ...named(dialectSchemas, (name) => `dialect${name.charAt(0).toUpperCase()}${name.slice(1)}`),
];
const frames = named(eventSchemas, (type) => `${type}Frame`);

/** Values that `exampleOf` invents where it knows no better. */
const invented = exampleOf({ type: 'string', pattern: '^[1-9A-HJ-NP-Za-km-z]{32,88}$' });

it('are complete, and nothing else was recorded', () => {
  expect(Object.keys(recorded.answers).toSorted()).toEqual(answers.map(([id]) => id).toSorted());
  expect(Object.keys(recorded.messages).toSorted()).toEqual([...messages, ...frames].map(([name]) => name).toSorted());
});

it.each([
  ...answers.map(([id, schema]) => [id, schema, recorded.answers[id]] as const),
  ...messages.map(([name, schema]) => [name, schema, recorded.messages[name]] as const),
])('%s has the form of its schema. If a schema has changed, run `npx -y pnpm@12 record:answers`', (_name, schema, value) => {
  expect(validator(schema)(value)).toMatchObject({ ok: true });
});

it.each(frames)('%s has the form of its schema', (name, schema) => {
  const frame = recorded.messages[name] as { readonly data: unknown };
  expect(validator(EventFrame)(frame)).toMatchObject({ ok: true });
  expect(validator(schema)(frame.data)).toMatchObject({ ok: true });
});

it('are of a real market, not made from the schemas', () => {
  for (const [name, schema] of answers.filter(([id]) => id !== 'live')) expect(recorded.answers[name], name).not.toEqual(exampleOf(schema));
  const values: [string, unknown][] = [];
  JSON.stringify(recorded, (field, value: unknown) => (values.push([field, value]), value));
  const of = (name: string): unknown[] => values.filter(([field]) => field === name).map(([, value]) => value);
  expect(new Set(['decimals', 'baseDecimals', 'quoteDecimals', 'inDecimals'].flatMap(of))).toEqual(new Set([6, 9]));
  for (const slot of of('slot').filter((value) => value !== null)) expect(slot).toBeGreaterThan(1_000_000);
  for (const name of ['name', 'symbol', 'uri']) for (const text of of(name)) expect(text).not.toBe(name);
  expect(values.map(([, value]) => value)).not.toContain(invented);
  expect(JSON.stringify(recorded)).toContain(exampleMint);
  expect(JSON.stringify(recorded)).not.toMatch(/sluice_\w{4,}_\w{4,}|\/(home|root|tmp|work)\//);
});

it('are shown, on pages that name the version of the product', () => {
  const page = (name: string): string => documents.pages.find((each) => each.name === name)?.markdown ?? '';
  expect(page('http-token')).toContain(JSON.stringify(recorded.answers['tokenInfo'], null, 1));
  expect(page('stream')).toContain(JSON.stringify(recorded.messages['tradeFrame'], null, 1));
  expect(documents.openApi).toContain(JSON.stringify(recorded.answers['tradeBuy']));
  expect(page('index')).toContain(`sluice ${version}`);
  for (const { name, html } of documents.pages) expect(html, name).toContain(`sluice ${version}</`);
});
