import { startFault } from '@sluice/shared/config/start-fault.ts';
import { type Command, CommandError, helpOf, inQuotes, runCommand, UsageError } from '../command-line/command.ts';
import { print, printError } from '../command-line/terminal.ts';

/** Commands are loaded when they are run, so that each start loads only its own part of the program. */
type Entry = readonly [summary: string, load: () => Promise<{ readonly command: Command }>];

const commands: Readonly<Record<string, Entry>> = {
  keys: ['create, list, rotate and revoke API keys', () => import('./keys/keys.ts')],
  accounts: ['create, list and disable accounts; create links that sign in to the dashboard', () => import('./keys/accounts.ts')],
  wallets: ['create, import, list and export custodial wallets; check what was signed with them', () => import('./wallets/wallets.ts')],
  signer: ['run the signing process as a separate user', () => import('./trading/signer.ts')],
  trading: ['halt and resume all trading', () => import('./trading/trading.ts')],
  triggers: ['list and cancel orders that wait for a condition', () => import('./trading/triggers.ts')],
  backup: ['copy the embedded store to a file, while gateways run', () => import('./store/backup.ts')],
  restore: ['replace the embedded store by a copy', () => import('./store/restore.ts')],
  watch: ['print live events', () => import('./watch/watch.ts')],
  explain: ['explain a transaction: instructions, changes by wallet, events, and why it failed', () => import('../explain/explain.ts')],
  idl: ['check IDLs of programs, and read those that are published on chain', () => import('../explain/idl.ts')],
  mcp: ['serve tools to an agent', () => import('./mcp/mcp.ts')],
  simnet: ['run a simulated chain', () => import('./simnet.ts')],
  replay: ['replay recorded transactions', () => import('./replay/replay.ts')],
  doctor: ['check settings, Redis, RPC and gRPC nodes, clock, data folder and gateway', () => import('./doctor/doctor.ts')],
};

function overview(): string {
  return [
    'Usage: sluice <command> [options]',
    '',
    'Commands:',
    ...Object.entries(commands).map(([name, [summary]]) => `  ${name.padEnd(9)} ${summary}`),
    '',
    'Help: sluice <command> --help, for example sluice keys create --help. All commands accept --json.',
  ].join('\n');
}

/** Runs one command line. Resolves with the exit code: 0 success, 1 failure, 2 wrong arguments. Prints help, and what is wrong. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    print(overview());
    return name === undefined ? 2 : 0;
  }
  if (!Object.hasOwn(commands, name)) {
    printError(`There is no command ${inQuotes(name)}.\n\n${overview()}`);
    return 2;
  }
  const { command } = await commands[name]![1]();
  if (rest.includes('--help') || rest.includes('-h')) {
    print(helpOf(command, name, rest));
    return 0;
  }
  try {
    return await runCommand(command, name, rest);
  } catch (error) {
    if (error instanceof UsageError) {
      printError(`${error.message}\n\n${helpOf(command, name, rest)}`);
      return 2;
    }
    const fault = error instanceof CommandError ? error.message : startFault(error);
    if (fault === null) throw error;
    printError(fault);
    return 1;
  }
}
