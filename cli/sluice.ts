import { watchOutput } from './command.ts';
import { runCommandLine } from './run-command-line.ts';

watchOutput();
process.exitCode = await runCommandLine(process.argv.slice(2));
