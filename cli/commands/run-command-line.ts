import { startFault } from '@sluice/shared/config/start-fault.ts';
import { type Command, CommandError, inQuotes, UsageError } from '../command-line/command.ts';
import { print, printError } from '../command-line/terminal.ts';

interface Entry {
  readonly name: string;
  readonly summary: string;
  /** Commands are loaded when they are run, so that each start loads only its own part of the program. */
  load(): Promise<Command>;
}

const commands: readonly Entry[] = [
  {
    name: 'keys',
    summary: 'create, list, rotate and revoke API keys',
    load: async () => (await import('./keys/keys.ts')).keysCommand,
  },
  {
    name: 'accounts',
    summary: 'create, list and disable accounts; create links that sign in to the dashboard',
    load: async () => (await import('./keys/accounts.ts')).accountsCommand,
  },
  {
    name: 'wallets',
    summary: 'create, import, list and export custodial wallets; check what was signed with them',
    load: async () => (await import('./wallets/wallets.ts')).walletsCommand,
  },
  {
    name: 'signer',
    summary: 'run the signing process as a separate user',
    load: async () => (await import('./trading/signer.ts')).signerCommand,
  },
  {
    name: 'trading',
    summary: 'halt and resume all trading',
    load: async () => (await import('./trading/trading.ts')).tradingCommand,
  },
  {
    name: 'backup',
    summary: 'copy the embedded store to a file, while gateways run',
    load: async () => (await import('./store/backup.ts')).backupCommand,
  },
  {
    name: 'restore',
    summary: 'replace the embedded store by a copy',
    load: async () => (await import('./store/restore.ts')).restoreCommand,
  },
  { name: 'watch', summary: 'print live events', load: async () => (await import('./watch/watch.ts')).watchCommand },
  { name: 'mcp', summary: 'serve tools to an agent', load: async () => (await import('./mcp/mcp.ts')).mcpCommand },
  { name: 'simnet', summary: 'run a simulated chain', load: async () => (await import('./simnet.ts')).simnetCommand },
  {
    name: 'replay',
    summary: 'replay recorded transactions',
    load: async () => (await import('./replay/replay.ts')).replayCommand,
  },
  {
    name: 'doctor',
    summary: 'check settings, Redis, RPC nodes, clock, data folder and gateway',
    load: async () => (await import('./doctor/doctor.ts')).doctorCommand,
  },
];

function overview(): string {
  return [
    'Usage: sluice <command> [options]',
    '',
    'Commands:',
    ...commands.map((command) => `  ${command.name.padEnd(9)} ${command.summary}`),
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
  const entry = commands.find((candidate) => candidate.name === name);
  if (entry === undefined) {
    printError(`There is no command ${inQuotes(name)}.\n\n${overview()}`);
    return 2;
  }
  const command = await entry.load();
  if (rest.includes('--help') || rest.includes('-h')) {
    print(helpOf(command, rest));
    return 0;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    if (error instanceof UsageError) {
      printError(`${error.message}\n\n${helpOf(command, rest)}`);
      return 2;
    }
    const fault = error instanceof CommandError ? error.message : startFault(error);
    if (fault === null) throw error;
    printError(fault);
    return 1;
  }
}

/** The help of the action that the arguments name, or else of the whole command. */
function helpOf({ help, actionHelp = {} }: Command, args: readonly string[]): string {
  const words = args.filter((argument) => !argument.startsWith('-'));
  const names = [words.slice(0, 2).join(' '), words[0] ?? ''];
  const name = names.find((one) => Object.hasOwn(actionHelp, one));
  return name === undefined ? help : (actionHelp[name] ?? help);
}
