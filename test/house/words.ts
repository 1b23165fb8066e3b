import { venueNames } from '@sluice/shared/wire/venues.ts';
import wallTimes from './wall-time.json' with { type: 'json' };
import type { HouseCheck } from './house-check.ts';
import { naming, replacedWords } from './replaced-words.ts';
import { isTypeScript, place, sourceFiles, type SourceFile } from './source-files.ts';

interface Rule {
  readonly what: string;
  readonly pattern: RegExp;
  readonly applies?: (path: string) => boolean;
}

const own = 'test/house/words.ts';
const isMarkdown = (path: string): boolean => path.endsWith('.md');
const isCode = (path: string): boolean => /\.(ts|mts|mjs)$/.test(path);
const isTest = (path: string): boolean => path.endsWith('.test.ts');
const isPure = (path: string): boolean => /^shared\/src\/(venues|wire|codec|errors)\//.test(path);
/** Configuration is read once, at the edge. `test` starts processes of its own. */
/** The samples of the documentation are texts. */
const readsEnvironment = (path: string): boolean =>
  /^(cli|test|client\/examples|site\/src\/docs\/sections\/samples)\//.test(path) || path.endsWith('/src/main.ts');

/** The contract, its examples, what is generated from it, and the name of a coin. */
const namingPrograms: ReadonlySet<string> = new Set([
  'shared/src/wire/venues.ts',
  'client/src/wire.ts',
  'site/web/src/state/metadata/well-known.ts',
]);

const rules: readonly Rule[] = [
  { what: 'unfinished by its own words', pattern: /\b(TODO|FIXME|XXX|HACK)\b|\bnot implemented\b|\bfor now\b/i },
  { what: 'a path of one machine', pattern: /(?<![\w.-])\/(work|farm|home|Users|root)\/[\w.-]+|\/tmp\/[\w-]+/ },
  { what: "a package registry's host", pattern: /registry\.npm|\bdeb\.debian\.org|\barchive\.ubuntu\.com/i },
  { what: 'a test that does not run', pattern: /\b(it|test|describe)\.(only|skip|todo)\(/, applies: isTest },
  {
    what: 'an error that is ignored',
    pattern: /\bcatch\s*(\([^)]*\))?\s*\{\s*\}|\.catch\(\s*\(\w*\)\s*=>\s*\{\s*\}\s*\)/,
    applies: isCode,
  },
  {
    what: 'a timeout that garbage collection can remove; use `startDeadline`',
    pattern: /\bAbortSignal\.timeout\(/,
    applies: (path) => isCode(path) && /^(shared|followers|ingest|gateway|trading|site)\//.test(path),
  },
  {
    what: 'the environment, read outside a main.ts or the command line',
    pattern: /\bprocess\.env\b/,
    applies: (path) => isCode(path) && !readsEnvironment(path),
  },
  {
    what: 'text on a terminal that is not made printable; use cli/command-line/terminal.ts',
    pattern: /\bconsole\./,
    applies: (path) => isCode(path) && path.startsWith('cli/') && path !== 'cli/command-line/terminal.ts',
  },
  {
    what: 'a clock, a random number or the process in the pure core',
    pattern: /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.now\(|\bprocess\.|\bconsole\./,
    applies: (path) => isCode(path) && isPure(path),
  },
  {
    what: 'a program that is named outside of venues/; use the registry, or shared/src/wire/venues.ts',
    pattern: new RegExp(`['"\`](${venueNames.join('|')})['"\`]|\\b(PumpSwap|LaunchLab|Raydium|Orca|Whirlpool|Meteora)`),
    applies: (path) => /\.(ts|tsx|mjs)$/.test(path) && !/^(test|venues|client\/examples)\//.test(path) && !namingPrograms.has(path),
  },
  ...Object.entries(replacedWords).map(([word, term]) => ({
    what: `a word that the project does not use; write ${term}`,
    pattern: new RegExp(`\\b${word}\\b`, 'i'),
    applies: (path: string) => !naming.has(path),
  })),
];

const fewestFiles = 100;

/** Words and calls that the project must not contain. */
export const words: HouseCheck = {
  name: 'forbidden words and calls',
  async run(root) {
    const files = sourceFiles(root).filter((file) => file.path !== own);
    const tooFew = files.length < fewestFiles ? [`only ${files.length} files seen, expected ${fewestFiles} or more`] : [];
    return [...tooFew, ...files.flatMap(wordFaults), ...wallTimeFaults(files)];
  },
};

/** One reason to use wall time, and the lines of code that it holds for: path → lines without their indentation. */
interface WallTimeReason {
  readonly reason: string;
  readonly uses: Readonly<Record<string, readonly string[]>>;
}

const wallTime = new RegExp(
  [
    String.raw`\bDate\.now\b|\bnew Date\(\)|(?<![\w.]|new )Date\(\)|= Date;|\btimeOrigin\b`,
    // The readers of the clock in shared/src/runtime/clock. Other functions have the same names, with a dot or a type.
    String.raw`(?<![\w.])nowUs\(\)(?!:)|(^|, )nowUs,|(?<![\w#])wallMs\(\)(?!:)`,
    // Redis, SQL and Python.
    String.raw`'TIME'|\bclock_timestamp\(|\bCURRENT_TIMESTAMP\b|\b(strftime|unixepoch)\(|\bdatetime\.(now|utcnow|today)\(|\btime\.time(_ns)?\(`,
  ].join('|'),
);
const isComment = /^(\*|\/[/*]|# )/;
/** Tests may use any clock. simnet is not a test, because `start` runs it. */
const isProduct = (path: string): boolean =>
  /\.(ts|tsx|mts|mjs|js|py|lua|sh)$/.test(path) &&
  !isTest(path) &&
  !/^test\/(?!simnet\/)|^test\/simnet\/support\/|^clients\/\w+\/tests\//.test(path);

/**
 * Uses of wall time that `wall-time.json` does not list, and entries of the list without a use. A duration is measured by the steady clock.
 * What is deleted, counted or refused by wall time uses the time that two parties agree on. Only what people read is as the clock shows it.
 */
export function wallTimeFaults(files: readonly SourceFile[], reasons: readonly WallTimeReason[] = wallTimes): readonly string[] {
  const listed = reasons.flatMap(({ uses }) => Object.entries(uses).flatMap(([path, lines]) => lines.map((line) => `${path}: ${line}`)));
  const faults: string[] = [];
  for (const { path, text } of files) {
    if (!isProduct(path)) continue;
    for (const [index, line] of text.split('\n').entries()) {
      const code = line.trim();
      if (!wallTime.test(code) || isComment.test(code)) continue;
      const at = listed.indexOf(`${path}: ${code}`);
      if (at >= 0) listed.splice(at, 1);
      else faults.push(`${path}:${index + 1}: wall time that test/house/wall-time.json does not list with its reason: ${code}`);
    }
  }
  return [...faults, ...listed.map((entry) => `test/house/wall-time.json lists a use of wall time that is gone: ${entry}`)];
}

export function wordFaults(file: SourceFile): readonly string[] {
  return rules
    .filter((rule) => rule.applies?.(file.path) ?? (isTypeScript(file) || isMarkdown(file.path) || !isCode(file.path)))
    .flatMap((rule) => {
      const match = rule.pattern.exec(file.text);
      return match === null ? [] : [`${place(file, match.index)}: ${rule.what}: ${match[0].trim()}`];
    });
}
