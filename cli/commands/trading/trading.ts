import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { haltMarks, makeHaltMarks, readHaltMarks, removeHaltMarks, type Folders } from '@sluice/gateway/store/halt/halt-mark.ts';
import { maxHaltAgeMs } from '@sluice/gateway/store/halt/halt.ts';
import type { HaltTable, StoredHalt } from '@sluice/gateway/store/sql/tables/operation/halt.ts';
import { reasonOf } from '@sluice/gateway/store/store-unavailable.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { loadEnvFile } from '@sluice/shared/config/env-file.ts';
import { readFolders } from '@sluice/shared/config/settings/settings.ts';
import { action, type Command, CommandError, loadConfig, option, UsageError } from '../../command-line/command.ts';
import { isoTime, printError } from '../../command-line/terminal.ts';

/** The exit code of a halt that does not reach everything. */
const haltedInPart = 3;
const maxReasonLength = 200;

const halt = action({
  about: 'Halt all trading on every gateway of the store.',
  options: { reason: option('TEXT', `a note for the logs and the status, up to ${maxReasonLength} characters`) },
  json: 'print {"halted", "reason", "changedAtMs", "missing"}. The list "missing" is empty if the exit code is 0',
  more: `The command creates the halt mark first, which needs only the disk. Then it sets the switch in the store. It takes about a second. When it
exits with 0, sluice signs nothing, sends and resends no transaction, and refuses new orders with TRADING_HALTED. A transaction that was
sent before can still land. Its order is followed to its end.

Exit codes:
  0  trading is halted on every gateway of the store
  3  trading is halted in part; the command prints what is not halted, and what to do
  1  nothing is halted`,
  examples: ['trading halt --reason "prices look wrong"'],
  async run(values) {
    const why = readReason(values.reason);
    const atMs = Date.now();
    const folders = foldersHere();
    // Before anything that can fail: the other settings, the store, and the packages that open it.
    const unmade = makeHaltMarks(folders, why, atMs);
    const store = await haltStore(why, atMs);
    // A gateway or signing process reads the halt again only after this time. Until then it may still use the earlier state.
    await pause(maxHaltAgeMs);
    const marked = unmade.length < haltMarks(folders).length ? readHaltMarks(folders) : null;
    const missing = [...unmade, ...(store.fault === null ? [] : [store.fault])];
    const state = store.state ?? marked;
    if (state === null) throw new CommandError(['Trading is not halted.', ...missing].join('\n'));
    const text = textOf(state, store.state === null ? ' on this machine' : '');
    return { json: { ...state, missing }, text, errors: missing, code: missing.length === 0 ? 0 : haltedInPart };
  },
});

const resume = action({
  about: 'Resume trading. Open orders that can still land are sent again.',
  more: `The command ends the halt in the store, and then removes the halt mark of this machine. Without the store nothing is resumed. If the halt
was set on other machines too, run the command on each of them.`,
  async run() {
    const folders = foldersHere();
    const config = loadConfig();
    const state = await inStore(config, async (store) => {
      await store.set(false, null, Date.now());
      removeHaltMarks(folders);
      return store.read();
    }).catch((error: unknown) => {
      throw new CommandError(`Trading was not resumed: ${reasonOf(error)}`);
    });
    if (state.halted || readHaltMarks(folders) !== null)
      throw new CommandError('Another command halted trading at the same time. Check: sluice trading status');
    const elsewhereToo = 'If trading was halted on other machines too, run this command on each of them.';
    return { json: state, text: config.databaseUrl === null ? textOf(state) : `${textOf(state)}\n${elsewhereToo}` };
  },
});

const status = action({
  about: 'Show whether trading is halted, since when and why. The exit code is 1 while it is halted.',
  async run() {
    const marked = readHaltMarks(foldersHere());
    let stored: StoredHalt | null = null;
    try {
      stored = await inStore(loadConfig(), (store) => store.read());
    } catch (error) {
      if (marked === null) throw error;
      printError(`The store was not read: ${reasonOf(error)}`);
    }
    const state = stored?.halted === true ? stored : (marked ?? stored);
    if (state === null) throw new TypeError('neither the store nor the mark was read');
    return { json: state, text: textOf(state, state === marked ? ' on this machine' : ''), code: state.halted ? 1 : 0 };
  },
});

function foldersHere(): Folders {
  loadEnvFile(process.env);
  return readFolders(process.env);
}

/** Loaded only here, so that a halt mark can be made even if the packages of the store are damaged. */
async function inStore<T>(config: Config, work: (store: HaltTable) => Promise<T>): Promise<T> {
  const { withHaltSwitch } = await import('../store/with-store.ts');
  return withHaltSwitch(config, work);
}

/** Sets the switch in the store. `state` is null if it is not set; `fault` then says why, and what to do. */
async function haltStore(why: string | null, atMs: number): Promise<{ readonly state: StoredHalt | null; readonly fault: string | null }> {
  const failed = (fault: string): { readonly state: null; readonly fault: string } => ({ state: null, fault });
  try {
    const config = loadConfig();
    const folder = resolve(config.dataDir);
    if (config.databaseUrl === null && !existsSync(join(folder, 'sluice.db')))
      return failed(`There is no store in ${folder} yet. If a gateway runs with another DATA_DIR, run this command with its settings.`);
    const state = await inStore(config, async (store) => {
      await store.set(true, why, atMs);
      return store.read();
    });
    return state.halted ? { state, fault: null } : failed('Another command resumed trading at the same time. Run this command again.');
  } catch (error) {
    return failed(`The switch in the store is not set: ${reasonOf(error)}\n${elsewhere()}`);
  }
}

/** What the halt mark of this machine does not reach. */
function elsewhere(): string {
  const isShared = (process.env['DATABASE_URL'] ?? '').trim() !== '';
  return isShared
    ? 'Gateways on other machines may still trade. Run this command on each of them, or stop them. Run it again when the store answers.'
    : 'A gateway with another DATA_DIR may still trade. Run this command again when the store can be opened.';
}

function textOf(state: StoredHalt, where = ''): string {
  const since = state.changedAtMs === 0 ? '' : ` since ${isoTime(state.changedAtMs)}`;
  const why = state.reason === null ? '.' : `: ${state.reason}`;
  return `Trading is ${state.halted ? 'halted' : 'not halted'}${where}${since}${why}`;
}

function readReason(text: string | undefined): string | null {
  if (text === undefined || text === '') return null;
  if (text.length > maxReasonLength || /\p{C}/u.test(text)) {
    throw new UsageError(`--reason takes at most ${maxReasonLength} printable characters`);
  }
  return text;
}

export const command: Command = {
  about: 'Halt and resume all trading.',
  actions: { halt, resume, status },
  more: `A halt is a switch in the store, and a file on this machine: the halt mark, in DATA_DIR/audit and in SIGNER_DIR. The switch applies to all
gateways of the store. The mark applies to the gateways and signing processes of this machine, and needs no store. Both stay in force when
the processes restart.`,
};
