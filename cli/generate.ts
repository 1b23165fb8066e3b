import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { settingsTable } from '@sluice/shared/config/settings/settings-table.ts';
import { asyncApiDocument } from '@sluice/shared/wire/documents/openapi/asyncapi.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { referenceBlocks } from '@sluice/site/docs/sections/topics.ts';
import { generatePythonTypes } from './generate/client/python.ts';
import { generateTypeScriptTypes } from './generate/client/typescript.ts';
import { fillBlocks } from './generate/fill-document-blocks.ts';
import { printError } from './command-line/terminal.ts';

/** Writes all generated parts: the types of the clients, `.env.example` and blocks of documents. With `--check` nothing is written; the exit code is 1 if a part is stale. */
const root = process.cwd();

interface Generated {
  readonly file: string;
  /** Returns the new text of the whole file. */
  readonly render: (current: string) => string;
}

const generated: readonly Generated[] = [
  { file: '.env.example', render: () => envExample() },
  {
    file: 'docs/REFERENCE.md',
    render: (current) => {
      const api = referenceBlocks(endpoints, asyncApiDocument({ version: '' }));
      return fillBlocks(current, { plans: plansRows(), settings: settingsRows(), ...api });
    },
  },
  { file: 'client/src/wire.ts', render: () => generateTypeScriptTypes() },
  { file: 'clients/python/src/sluice_client/wire.py', render: () => generatePythonTypes() },
];

function envExample(): string {
  const parts = settingsTable.map(({ name, default: fallback, meaning, example }) => {
    const note = fallback === null ? 'Not set by default.' : `Default: ${fallback}`;
    return `# ${meaning.replaceAll('`', '')}\n# ${note.replaceAll('`', '')}\n#${name}=${example ?? fallback ?? ''}\n`;
  });
  return `# Settings of sluice. Copy this file to .env, or set them in the environment, which takes precedence.\n\n${parts.join('\n')}`;
}

function settingsRows(): string {
  const rows = settingsTable.map(({ name, default: fallback, meaning }) => {
    const shown = fallback === null ? 'none' : /[ `]/.test(fallback) ? fallback : `\`${fallback}\``;
    return `| \`${name}\` | ${shown} | ${meaning} |`;
  });
  return ['| name | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

function plansRows(): string {
  const yes = (has: boolean): string => (has ? 'yes' : 'no');
  const rows = Object.values(defaultPlans).map(({ name, ...plan }) => {
    const { requestsPerMinute, burst, connections, subscriptions, commandsPerSecond } = plan;
    const numbers = [requestsPerMinute, burst, connections, subscriptions, commandsPerSecond].map((number) => number.toLocaleString('en'));
    return `| ${name[0]!.toUpperCase()}${name.slice(1)} | ${[...numbers, yes(plan.allTrades), yes(plan.batch)].join(' | ')} |`;
  });
  const head =
    '| plan | requests per minute | burst | connections | topics | commands per second per connection | trades of all tokens | batches |';
  return [head, '|---|---|---|---|---|---|---|---|', ...rows].join('\n');
}

function main(args: readonly string[]): number {
  const isCheck = args.includes('--check');
  let stale = 0;
  for (const { file, render } of generated) {
    const path = join(root, file);
    const current = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const next = render(current);
    if (next === current) continue;
    stale++;
    if (isCheck) printError(`${file} is stale. Run: pnpm generate`);
    else writeFileSync(path, next);
  }
  return isCheck && stale > 0 ? 1 : 0;
}

process.exitCode = main(process.argv.slice(2));
