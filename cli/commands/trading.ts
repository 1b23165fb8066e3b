import { setTimeout as pause } from 'node:timers/promises';
import { maxHaltAgeMs } from '@sluice/gateway/store/halt.ts';
import type { StoredHalt } from '@sluice/gateway/store/halt-table.ts';
import { CommandError, UsageError, actionOf, loadConfig, parseCommand, positionalsOf, printJson, type Command } from '../command.ts';
import { isoTime } from '../times.ts';
import { withStore } from '../with-store.ts';

const maxReasonLength = 200;

export const tradingCommand: Command = {
  help: `Usage:
  sluice trading halt [--reason TEXT]
      stops all trading, on every gateway of this store within a second: orders are answered TRADING_HALTED, and nothing is signed.
      It waits for that second: when it ends, nothing is signed any more, and no order leaves this server, not even one that was sent
      before and is not in a block yet. What is out already may land all the same: it is followed to its true end.
  sluice trading resume
      trading goes on; orders that are open and can still land are sent again.
  sluice trading status
      ends with 1 while trading is halted.

All take --json. They act on the store (DATABASE_URL, or under DATA_DIR), also while gateways run on it; what was turned stays so
when they start again.`,
  async run(argv) {
    const [work, rest] = actionOf('trading', argv, actions);
    return work(rest);
  },
};

type Action = (argv: readonly string[]) => Promise<number>;
const actions: ReadonlyMap<string, Action> = new Map(Object.entries({ halt, resume, status }));

async function halt(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { reason: { type: 'string' }, json: { type: 'boolean' } });
  positionalsOf(positionals);
  await turn(true, readReason(values.reason), values.json === true);
  return 0;
}

async function resume(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  await turn(false, null, values.json === true);
  return 0;
}

async function status(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const state = await withStore(loadConfig(), (store) => store.halt.read());
  show(state, values.json === true);
  return state.halted ? 1 : 0;
}

async function turn(halted: boolean, reason: string | null, json: boolean): Promise<void> {
  const state = await withStore(loadConfig(), async (store) => {
    await store.halt.set(halted, reason, Date.now());
    return store.halt.read();
  });
  // Gateways and signing processes act for so long by what they read before.
  if (halted) await pause(maxHaltAgeMs);
  // Somebody else turned it the other way at the same moment.
  if (state.halted !== halted) throw new CommandError(`Trading is ${halted ? 'not halted' : 'halted'} all the same: sluice trading status`);
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
    throw new UsageError(`--reason takes ${maxReasonLength} printable characters at most`);
  }
  return text;
}
