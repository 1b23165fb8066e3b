import { CommandError, UsageError, shown, type Command } from './command.ts';
import { doctorCommand } from './commands/doctor.ts';
import { keysCommand } from './commands/keys.ts';
import { replayCommand } from './commands/replay.ts';
import { simnetCommand } from './commands/simnet.ts';
import { walletsCommand } from './commands/wallets.ts';
import { watchCommand } from './commands/watch.ts';

const commands: readonly Command[] = [keysCommand, walletsCommand, watchCommand, simnetCommand, replayCommand, doctorCommand];

function overview(): string {
  return [
    'Usage: sluice <command> [arguments]',
    '',
    ...commands.map((command) => `  ${command.name.padEnd(9)} ${command.summary}`),
    '',
    'sluice <command> --help tells more. Every command takes --json.',
  ].join('\n');
}

/** Runs one command line and gives its exit code: 0 done, 1 not possible, 2 wrong arguments. */
async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    console.log(overview());
    return name === undefined ? 2 : 0;
  }
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    console.error(`There is no command ${shown(name)}.\n\n${overview()}`);
    return 2;
  }
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
    if (error instanceof CommandError) {
      console.error(error.message);
      return 1;
    }
    throw error;
  }
}

// A reader that has enough (`sluice watch trades | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.exitCode = await main(process.argv.slice(2));
