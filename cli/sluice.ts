import { watchOutput } from './command-line/terminal.ts';
import { runCommandLine } from './commands/run-command-line.ts';

watchOutput();
process.exitCode = await runCommandLine(process.argv.slice(2));
