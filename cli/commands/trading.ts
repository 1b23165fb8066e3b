import { setTimeout as pause } from 'node:timers/promises';
import { maxHaltAgeMs } from '@sluice/gateway/store/halt.ts';
import type { StoredHalt } from '@sluice/gateway/store/interfaces/halt-table.ts';
import {
  CommandError,
  UsageError,
  actionOf,
  loadConfig,
  parseCommand,
  positionalsOf,
  printJson,
  storeNote,
  type Command,
} from '../command.ts';
import { isoTime } from '../times.ts';
import { withStore } from '../with-store.ts';

const maxReasonLength = 200;

export const tradingCommand: Command = {
  help: `Halt and resume all trading.

Usage:
  sluice trading halt [--reason TEXT]
  sluice trading resume
  sluice trading status

The halt is in the store. It applies to all gateways of the store, and stays in force when they restart.

${storeNote}`,
  actionHelp: {
    halt: `Halt all trading on every gateway of the store.

Usage: sluice trading halt [--reason TEXT] [--json]

  --reason TEXT  a note for the logs and the status, up to ${maxReasonLength} characters

The command takes one second. When it exits, sluice signs nothing, sends and resends no transaction, and refuses new orders with
TRADING_HALTED. A transaction that was sent before can still land. Its order is followed to its end.

Example: sluice trading halt --reason "prices look wrong"`,
    resume: `Resume trading. Open orders that can still land are sent again.

Usage: sluice trading resume [--json]`,
    status: `Show whether trading is halted, since when and why. The exit code is 1 while it is halted.

Usage: sluice trading status [--json]`,
  },
  async run(argv) {
    const [action, rest] = actionOf('trading', argv, actions);
    return action(rest);
  },
};

type Action = (argv: readonly string[]) => Promise<number>;
const actions: ReadonlyMap<string, Action> = new Map(Object.entries({ halt, resume, status }));

async function halt(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { reason: { type: 'string' }, json: { type: 'boolean' } });
  positionalsOf(positionals);
  await setHalt(true, readReason(values.reason), values.json === true);
  return 0;
}

async function resume(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  await setHalt(false, null, values.json === true);
  return 0;
}

async function status(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const state = await withStore(loadConfig(), (store) => store.halt.read());
  show(state, values.json === true);
  return state.halted ? 1 : 0;
}

async function setHalt(halted: boolean, reason: string | null, json: boolean): Promise<void> {
  const state = await withStore(loadConfig(), async (store) => {
    await store.halt.set(halted, reason, Date.now());
    return store.halt.read();
  });
  // A gateway or signing process reads the halt again only after this time. Until then it may still use the earlier state.
  if (halted) await pause(maxHaltAgeMs);
  if (state.halted !== halted)
    throw new CommandError(
      `Another command changed the halt at the same time: trading is ${halted ? 'not halted' : 'halted'}. Check: sluice trading status`,
    );
  show(state, json);
}

function show(state: StoredHalt, json: boolean): void {
  if (json) return printJson(state);
  const since = state.changedAtMs === 0 ? '' : ` since ${isoTime(state.changedAtMs)}`;
  console.log(`Trading is ${state.halted ? 'halted' : 'not halted'}${since}${state.reason === null ? '.' : `: ${state.reason}`}`);
}

function readReason(text: string | undefined): string | null {
  if (text === undefined || text === '') return null;
  if (text.length > maxReasonLength || /\p{C}/u.test(text)) {
    throw new UsageError(`--reason takes at most ${maxReasonLength} printable characters`);
  }
  return text;
}
