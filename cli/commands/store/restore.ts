import { pepperFaultOf } from '@sluice/gateway/auth/pepper.ts';
import { restore, type LookAtCopy } from '@sluice/gateway/store/backup/restore.ts';
import { action, CommandError, loadConfig } from '../../command-line/command.ts';
import { orCommandError, summaryText } from './texts.ts';
import { withProgress } from '../../command-line/progress.ts';
import { isoTime } from '../../command-line/terminal.ts';

const meaning = `What an older copy means:
- Orders that were placed after the copy are not in the store, but their transactions may have landed. Their Idempotency-Keys are unknown: if a
  client repeats such a request, it buys or sells again.
- Orders that were open in the copy are followed to their end. For each of them only the transaction that is stored is ever sent.
- API keys, sessions and accounts that were revoked after the copy are valid again. Those that were made after it are gone.
- The sums of the day's spend are those of the copy. The signing process adds up its own audit logs.`;

export const command = action({
  about: 'Replace the embedded store by a copy that sluice backup made, and halt trading.',
  args: { FILE: 'the copy' },
  more: `Stop all gateways first: the command refuses if a process uses the store. It checks the copy completely. The files of the current store are
moved to a new folder in DATA_DIR, with their write-ahead log, so that files of two times are never mixed. A PostgreSQL store is restored
with pg_restore.

${meaning}

So trading stays halted until you run sluice trading resume. First tell the clients, check the wallets, and revoke keys again.`,
  examples: ['restore /backups/sluice-2026-11-27.db'],
  async run(_, [file = '']) {
    const config = loadConfig();
    if (config.databaseUrl !== null) throw new CommandError('The store is in PostgreSQL (DATABASE_URL). Restore it with pg_restore.');
    let pepperFault: string | null = null;
    const look: LookAtCopy = async (checks) => void (pepperFault = await pepperFaultOf({ dataDir: config.dataDir, checks }));
    const outcome = await orCommandError('Nothing was restored', () =>
      withProgress('checking and restoring the store', () => restore(config, file, Date.now(), look)),
    );
    if (!outcome.ok) throw new CommandError(`Nothing was restored: ${outcome.reason}.`);
    const { summary, replaced } = outcome;
    const last = summary.lastChangeAtMs === null ? 'it has no order' : `an order was last changed at ${isoTime(summary.lastChangeAtMs)}`;
    const before = `The files of the store before are in ${replaced}. Delete them when you no longer need them.`;
    return {
      json: { ...summary, replaced, pepperFault },
      text: [
        `Restored the store: ${summaryText(summary)}; ${last}.`,
        ...(replaced === null ? [] : [before]),
        `\n${meaning}\n\nTrading is halted. Check the wallets and the keys, then run: sluice trading resume`,
      ].join('\n'),
      errors: pepperFault === null ? [] : [pepperFault],
    };
  },
});
