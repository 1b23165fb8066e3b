import { backUp } from '@sluice/gateway/store/backup/back-up.ts';
import { passphraseFileOf } from '@sluice/trading/signer/custody/passphrase.ts';
import { signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { join, resolve } from 'node:path';
import { action, CommandError, loadConfig } from '../../command-line/command.ts';
import { orCommandError, summaryText } from './texts.ts';
import { withProgress } from '../../command-line/progress.ts';

export const command = action({
  about: 'Write a copy of the embedded store to a new file, while gateways run.',
  args: { FILE: 'a file that does not exist yet' },
  more: `The copy is the store of one moment: accounts, keys, sealed wallets, orders. It is checked, and only you can read it (mode 0600). It does not
contain the pepper, the passphrase and the audit logs; the command prints where they are. A PostgreSQL store is copied with pg_dump.`,
  examples: ['backup /backups/sluice-$(date +%F).db'],
  async run(_, [file = '']) {
    const config = loadConfig();
    if (config.databaseUrl !== null) throw new CommandError('The store is in PostgreSQL (DATABASE_URL). Copy it with pg_dump.');
    const outcome = await orCommandError('No copy was made', () => withProgress('copying the store', () => backUp(config.dataDir, file)));
    if (!outcome.ok) throw new CommandError(`No copy was made: ${outcome.reason}.`);
    const { bytes, summary } = outcome;
    const notIncluded = restOf(config);
    return {
      json: { file: outcome.file, bytes, ...summary, notIncluded: notIncluded.map(({ path }) => path) },
      text: [
        `${outcome.file}: ${(bytes / 1e6).toFixed(1)} MB, ${summaryText(summary)}.`,
        'The copy does not contain these. Store them elsewhere, apart from the copy:',
        ...notIncluded.map(({ path, what }) => `  ${path}  ${what}`),
      ].join('\n'),
    };
  },
});

interface Rest {
  readonly path: string;
  readonly what: string;
}

/** What a copy of the store needs, and what must not be stored with it. */
function restOf(config: Config): readonly Rest[] {
  const passphraseFile = passphraseFileOf(config);
  return [
    { path: resolve(join(config.dataDir, 'pepper')), what: 'without it no API key works' },
    ...(passphraseFile === null ? [] : [{ path: resolve(passphraseFile), what: 'without it no wallet opens' }]),
    { path: signerFolder(config), what: 'what was signed: the audit logs, and the policy' },
  ];
}
