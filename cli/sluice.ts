import { startFault } from '@sluice/shared/config/start-fault.ts';
import { type Command, CommandError, shown, UsageError, watchOutput } from './command.ts';

interface Entry {
  readonly name: string;
  readonly summary: string;
  /** Each command brings its own part of the program along, and only when it is asked for. */
  load(): Promise<Command>;
}

const commands: readonly Entry[] = [
  {
    name: 'keys',
    summary: 'makes, lists, rotates and revokes API keys',
    load: async () => (await import('./commands/keys.ts')).keysCommand,
  },
  {
    name: 'accounts',
    summary: 'makes, lists and ends accounts of key holders; links that sign in to the dashboard',
    load: async () => (await import('./commands/accounts.ts')).accountsCommand,
  },
  {
    name: 'wallets',
    summary: 'makes, imports and lists custodial wallets; checks what was signed with them',
    load: async () => (await import('./commands/wallets.ts')).walletsCommand,
  },
  {
    name: 'signer',
    summary: 'signs as a user of its own, for gateways that connect to its socket',
    load: async () => (await import('./commands/signer.ts')).signerCommand,
  },
  {
    name: 'trading',
    summary: 'halts all trading within a second, and lets it go on',
    load: async () => (await import('./commands/trading.ts')).tradingCommand,
  },
  { name: 'watch', summary: 'shows live events in the terminal', load: async () => (await import('./commands/watch.ts')).watchCommand },
  { name: 'simnet', summary: 'runs the simulated chain alone', load: async () => (await import('./commands/simnet.ts')).simnetCommand },
  {
    name: 'replay',
    summary: 'plays recorded transactions from a file',
    load: async () => (await import('./commands/replay.ts')).replayCommand,
  },
  {
    name: 'doctor',
    summary: 'checks settings, Redis, RPCs, clock, data and the gateway',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
];

function overview(): string {
  return [
    'Usage: sluice <command> [arguments]',
    '',
    ...commands.map((command) => `  ${command.name.padEnd(9)} ${command.summary}`),
    '',
    'sluice <command> --help explains a command. Every command takes --json.',
  ].join('\n');
}

/** Runs one command line and gives its exit code: 0 done, 1 not possible, 2 wrong arguments. */
async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    console.log(overview());
    return name === undefined ? 2 : 0;
  }
  const entry = commands.find((candidate) => candidate.name === name);
  if (entry === undefined) {
    console.error(`There is no command ${shown(name)}.\n\n${overview()}`);
    return 2;
  }
  const command = await entry.load();
  if (rest.includes('--help') || rest.includes('-h')) {
    console.log(command.help);
    return 0;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\n${command.help}`);
      return 2;
    }
    const fault = error instanceof CommandError ? error.message : startFault(error);
    if (fault === null) throw error;
    console.error(fault);
    return 1;
  }
}

watchOutput();
process.exitCode = await main(process.argv.slice(2));
