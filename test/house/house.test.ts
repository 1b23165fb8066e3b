import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { fillBlocks } from '../../cli/generate/fill-document-blocks.ts';
import { boundaryFaults, faceFaults } from './boundaries.ts';
import { pathFaults, treeOf } from './documented.ts';
import { doorFaults, folderCircles, leftOf, sizeFaults } from './folders.ts';
import { importsOf } from './imports.ts';
import { isPermissive } from './licences.ts';
import { upwardLayers } from './layers.ts';
import { sourceFiles } from './source-files.ts';
import { wallTimeFaults, wordFaults } from './words.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const known = new Set([
  'shared/src/bus/bus.ts',
  'venues/src/pump/curve/index.ts',
  'venues/src/pump/amm/index.ts',
  'venues/src/seam/venue.ts',
  'shared/src/runtime/log/log.ts',
  'followers/src/index.ts',
  'ingest/src/ingest.ts',
  'cli/gateway/gateway.ts',
  'trading/src/signer/custody/keystore.ts',
  'gateway/src/stream/hub.ts',
  'gateway/src/stream/fanout/fanout.ts',
  'gateway/src/stream/session/connection.ts',
  'test/simnet/simnet.ts',
  'test/support/servers/redis.ts',
  'cli/start.ts',
]);

function faults(path: string, text: string): readonly string[] {
  return boundaryFaults(importsOf({ path, text }), known);
}

describe('the boundaries', () => {
  it.each([
    ['ingest/src/a.ts', '../../cli/gateway/gateway.ts'],
    ['gateway/src/a.ts', '@sluice/followers/index.ts'],
    ['followers/src/a.ts', '@sluice/ingest/ingest.ts'],
    ['gateway/src/a.ts', '@sluice/ingest/ingest.ts'],
    ['shared/src/bus/a.ts', '@sluice/ingest/ingest.ts'],
    ['ingest/src/a.ts', '@sluice/simnet/simnet.ts'],
    ['cli/a.ts', '@sluice/test/support/servers/redis.ts'],
    ['gateway/src/a.ts', '../../cli/start.ts'],
    ['venues/src/pump/curve/a.ts', '../amm/index.ts'],
    ['venues/src/pump/curve/a.ts', '@sluice/shared/runtime/log/log.ts'],
    ['shared/src/wire/a.ts', 'pino'],
    ['shared/src/wire/a.ts', 'node:fs'],
    ['gateway/src/stream/a.ts', '@sluice/trading/signer/custody/keystore.ts'],
    ['site/src/docs/a.ts', '@sluice/trading/signer/custody/keystore.ts'],
    ['trading/src/a.ts', '../../cli/gateway/gateway.ts'],
    ['trading/src/quote/a.ts', '../signer/custody/keystore.ts'],
    ['gateway/src/stream/a.ts', 'uWebSockets.js'],
    ['gateway/src/stream/a.ts', 'ioredis'],
    ['gateway/src/stream/session/a.ts', '../hub.ts'],
    ['gateway/src/stream/fanout/a.ts', '../session/connection.ts'],
    ['gateway/src/stream/attic/a.ts', '../fanout/fanout.ts'],
    ['gateway/src/auth/a.ts', 'libsql'],
    ['ingest/src/a.ts', '@coral-xyz/anchor'],
    ['ingest/src/a.ts', '@solana/web3.js'],
    ['gateway/src/a.ts', 'node:child_process'],
    ['gateway/src/a.ts', 'left-pad/index.js'],
    ['gateway/src/a.ts', './not-there.ts'],
  ])('refuse %s importing %s', (path, specifier) => {
    expect(faults(path, `import { a } from '${specifier}';`)).toHaveLength(1);
  });

  it.each([
    ['gateway/src/a.ts', '@sluice/shared/bus/bus.ts'],
    ['cli/start.ts', '@sluice/simnet/simnet.ts'],
    ['ingest/src/a.ts', '@sluice/followers/index.ts'],
    ['venues/src/pump/curve/a.ts', '../../seam/venue.ts'],
    ['venues/src/registry.ts', './pump/curve/index.ts'],
    ['gateway/src/transport/a.ts', 'uWebSockets.js'],
    ['trading/src/api/a.ts', '../signer/custody/keystore.ts'],
    ['trading/src/api/a.ts', '@sluice/gateway/stream/hub.ts'],
    ['gateway/src/stream/session/a.ts', '../fanout/fanout.ts'],
    ['gateway/src/stream/hub.ts', './session/connection.ts'],
    ['test/a.test.ts', 'litesvm'],
  ])('allow %s importing %s', (path, specifier) => {
    expect(faults(path, `import { a } from '${specifier}';`)).toEqual([]);
  });

  it('refuse a path into a package, unless a test takes it', () => {
    const behind = (path: string, specifier: string): readonly string[] =>
      faceFaults(importsOf({ path, text: `import { a } from '${specifier}';` }));
    expect(behind('trading/src/api/a.ts', '../../../gateway/src/stream/hub.ts')).toHaveLength(1);
    expect(behind('cli/gateway/gateway.ts', '../../trading/src/api/trading.ts')).toHaveLength(1);
    expect(behind('trading/src/api/a.ts', '@sluice/gateway/stream/hub.ts')).toEqual([]);
    expect(behind('trading/src/api/a.ts', '../place/place-order.ts')).toEqual([]);
    expect(behind('test/orders/a.test.ts', '../../trading/src/place/place-order.ts')).toEqual([]);
  });

  it('refuse a list of layers that allows a circle', () => {
    expect(upwardLayers({ house: { above: ['below'], below: [] } })).toEqual([]);
    expect(upwardLayers({ house: { above: ['below'], below: ['above'] } })).toHaveLength(1);
    expect(upwardLayers({ house: { above: ['missing'] } })).toHaveLength(1);
  });

  it('refuse folders that depend on each other, also through a third one', () => {
    const file = (path: string, to: string): { path: string; text: string } => ({ path, text: `import { a } from '${to}';` });
    const line = [file('shared/src/bus/a.ts', '../wire/b.ts'), file('shared/src/wire/b.ts', '../market/redis/c.ts')];
    expect(folderCircles(line)).toEqual([]);
    const circle = [...line, file('shared/src/market/redis/c.ts', '../../bus/a.ts')];
    expect(folderCircles(circle).map((fault) => fault.split(' ')[0])).toEqual(['shared/src/bus', 'shared/src/wire', 'shared/src/market']);
    expect(folderCircles([...line, file('shared/src/market/c.test.ts', '../bus/a.ts')])).toEqual([]);
  });

  it('refuse crowded folders and long modules, but not many suites', () => {
    const files = (count: number, ending: string, text = ''): { path: string; text: string }[] =>
      Array.from({ length: count }, (_, i) => ({ path: `cli/${i}${ending}`, text }));
    expect(sizeFaults([...files(16, '.ts'), ...files(40, '.test.ts')])).toEqual([]);
    expect(sizeFaults(files(17, '.ts'))).toHaveLength(1);
    expect(sizeFaults(files(1, '.ts', 'a\n'.repeat(420)))).toEqual([]);
    expect(sizeFaults(files(1, '.ts', 'a\n'.repeat(421)))).toHaveLength(1);
  });

  it('refuse a room with too many doors, but not a folder of modules', () => {
    const room = (doors: number): { path: string; text: string }[] =>
      Array.from({ length: doors - 1 }, (_, i) => ({ path: `cli/${i}.ts`, text: '' })).concat({ path: 'cli/room/a.ts', text: '' });
    expect(doorFaults(room(10), {})).toEqual([]);
    expect(doorFaults(room(11), {})).toHaveLength(1);
    expect(doorFaults(room(11), { cli: 11 })).toEqual([]);
    expect(doorFaults(room(12).slice(0, -1), {})).toEqual([]);
  });

  it('detect every form of import, and ignore comments', () => {
    const text = [
      "import one from 'one';",
      "import type { A } from 'two';",
      "import {\n  b,\n  c,\n} from 'three';",
      "export * from 'four';",
      "export { d } from 'five';",
      "import 'six';",
      "const e = await import('seven');",
      "const f = require('eight');",
      "new Worker(new URL('./imports.ts', import.meta.url));",
      "new URL('./page.html', import.meta.url);",
      "// import g from 'ten';",
      "/** import h from 'eleven'; */",
    ].join('\n');
    const seen = importsOf({ path: 'cli/a.ts', text }).map(({ specifier }) => specifier);
    expect(new Set(seen)).toEqual(new Set(['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', './imports.ts']));
  });
});

describe('the forbidden words', () => {
  // Joined from two parts, so that this file does not contain the forbidden words.
  const joined = (a: string, b: string): string => a + b;
  it.each([
    ['gateway/src/a.ts', joined('// TO', 'DO: more')],
    ['README.md', joined('see /wo', 'rk/main')],
    ['README.md', joined('from https://registry.np', 'mjs.org')],
    ['test/a.test.ts', joined('it.on', "ly('x')")],
    ['cli/a.ts', joined('try { a() } catch (error) ', '{ }')],
    ['gateway/src/a.ts', 'const a = process.env;'],
    ['shared/src/bus/a.ts', 'const a = AbortSignal.timeout(5);'],
    ['shared/src/wire/a.ts', 'const a = Date.now();'],
    ['docs/PROTOCOL.md', joined('The epoch begins an', 'ew.')],
    ['test/house/a.ts', joined('// The epoch begins an', 'ew.')],
    ['clients/python/a.py', joined('# The epoch begins an', 'ew.')],
  ])('are found in %s: %s', (path, text) => {
    expect(wordFaults({ path, text })).toHaveLength(1);
  });

  it('ignore other words', () => {
    expect(wordFaults({ path: 'cli/a.ts', text: 'const a = process.env; // https://example.com/work-in-progress' })).toEqual([]);
  });
});

describe('wall time', () => {
  const path = 'gateway/src/a.ts';
  it.each([
    [path, 'const nowMs = Date.now();'],
    [path, 'const nowMs = options.now ?? Date.now;'],
    [path, 'const now = new Date();'],
    [path, '#startedAtMs = Date.now();'],
    [path, 'const atUs = nowUs();'],
    [path, 'nowUs,'],
    [path, 'const atMs = clock.wallMs();'],
    [path, "local now = redis.call('TIME')"],
    ['site/web/src/a.tsx', 'const [now] = useState(Date.now());'],
    ['cli/a.ts', 'const startedAtMs = performance.timeOrigin;'],
    ['compile/a.mjs', 'const atMs = Date.now();'],
    ['client/src/a.ts', 'const atMs = Date.now();'],
    ['clients/python/src/a.py', 'at = datetime.now(UTC)'],
    ['clients/python/src/a.py', 'at = time.time()'],
    ['test/simnet/a.ts', 'const atMs = Date.now();'],
  ])('is refused in %s unless it is listed with its reason: %s', (of, code) => {
    const files = [{ path: of, text: `  ${code}\n` }];
    expect(wallTimeFaults(files, [])).toHaveLength(1);
    const listed = [{ reason: 'shown', uses: { [of]: [code] } }];
    expect(wallTimeFaults(files, listed)).toEqual([]);
    // A second use of the same form is a new one.
    expect(wallTimeFaults([{ path: of, text: `${code}\n${code}\n` }], listed)).toHaveLength(1);
    expect(wallTimeFaults([], listed)).toEqual([expect.stringContaining('is gone')]);
  });

  it.each([
    [path, 'const atMs = performance.now();'],
    [path, 'const text = new Date(event.ts).toISOString();'],
    [path, 'const nowMs = store.time.nowMs();'],
    [path, '// Not Date.now(): it jumps.'],
    ['test/contract/a.ts', 'const nowMs = Date.now();'],
    ['gateway/src/a.test.ts', 'const nowMs = Date.now();'],
  ])('is not seen in %s: %s', (of, code) => expect(wallTimeFaults([{ path: of, text: code }], [])).toEqual([]));
});

it('the budgets count the lines of product code, and the bytes of manuals', () => {
  const files = ['shared/src/a.ts', 'shared/src/b.css', 'new/c.py', 'test/a.ts', 'client/src/wire.ts', 'site/web/test/a.ts', 'docs/A.md'];
  const left = leftOf(
    { lines: { shared: 5, client: 1 }, bytes: { 'docs/A.md': 3 } },
    files.map((path) => ({ path, text: 'ä\n1\n' })),
  );
  expect(Object.fromEntries(left)).toEqual({ shared: 1, client: 1, new: -2, 'docs/A.md': -2 });
});

describe('the paths in documents', () => {
  const paths = new Set([
    'shared/src/bus/bus.ts',
    'docs/guides/charts.md',
    'venues/src/',
    'test/ingest/continuity.test.ts',
    'test/signer/wall.test.ts',
  ]);
  const tree = {
    ...treeOf([...paths]),
    tops: new Set(['shared', 'venues', 'guides', 'ingest']),
    exists: (path: string) => paths.has(path),
  };
  const faultsIn = (text: string): readonly string[] => pathFaults({ path: 'docs/guides/a.md', text }, tree);

  it.each([
    '`shared/src/bus.ts`',
    '`shared/src/bus/`',
    '`hub.ts`',
    '`src/bus.ts`',
    '`pools/`',
    '`signer/none`',
    '[Charts](chart.md)',
    '[Charts](../../charts.md#data)',
  ])('are reported if nothing is there: %s', (text) =>
    expect(faultsIn(`one\n${text}`)).toEqual([expect.stringMatching(/^docs\/guides\/a\.md:2: .* does not exist$/)]),
  );

  it.each([
    '`shared/src/bus/bus.ts`, `bus/bus.ts`, `bus.ts`',
    '`venues/src/<program>/decode.ts`',
    '`ingest/continuity`, `signer/wall`',
    '`bus/`, `src/bus/`',
    '[Charts](charts.md#data), [far](https://example.com/none.md)',
    '`/api/data`, `a.md`, `events/s`',
    '```js server.ts\n`shared/none.ts`\n```',
  ])('are accepted otherwise: %s', (text) => expect(faultsIn(text)).toEqual([]));
});

describe('the source tree in ARCHITECTURE.md', () => {
  it('names folders and files that exist', () => {
    const tree = { ...treeOf(['shared/src/bus/bus.ts']), tops: new Set(['shared']), exists: () => true };
    const text = 'a\n```\nshared/src/  bus/ (bus.ts, redis/)  http/: pages\n```\n';
    expect(pathFaults({ path: 'docs/ARCHITECTURE.md', text }, tree)).toEqual([
      'docs/ARCHITECTURE.md:3: redis/ does not exist',
      'docs/ARCHITECTURE.md:3: http/ does not exist',
    ]);
  });
});

describe('licences', () => {
  it.each(['MIT', 'Apache-2.0', '(MIT OR GPL-3.0)', 'MIT AND ISC'])('%s is permissive', (licence) =>
    expect(isPermissive(licence)).toBe(true),
  );
  it.each(['GPL-3.0', 'AGPL-3.0-only', 'MIT AND GPL-2.0', 'UNLICENSED', ''])('%j is not', (licence) =>
    expect(isPermissive(licence)).toBe(false),
  );
});

describe('generated parts', () => {
  const document = 'a\n<!-- generated: one -->\nold\n<!-- /generated -->\nb\n';
  it('are replaced between their marks', () => {
    expect(fillBlocks(document, { one: 'new $1' })).toBe('a\n<!-- generated: one -->\nnew $1\n<!-- /generated -->\nb\n');
  });
  it('are reported if a block is missing or unknown', () => {
    expect(() => fillBlocks(document, { one: 'x', two: 'y' })).toThrow(/two/);
    expect(() => fillBlocks(document, {})).toThrow(/one/);
  });
});

describe('the checked files', () => {
  it('are those of the project, without packages', () => {
    const paths = sourceFiles(root).map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'README.md',
        'cli/start.ts',
        'shared/src/bus/bus.ts',
        'test/house/house.test.ts',
        'Procfile',
        'clients/python/pyproject.toml',
      ]),
    );
    expect(paths.filter((path) => path.includes('node_modules') || path.startsWith('.git/'))).toEqual([]);
  });
});
