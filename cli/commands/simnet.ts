import { createLog } from '@sluice/shared/log/log.ts';
import { startSimnet } from '@sluice/simnet/simnet.ts';
import { CommandError, UsageError, loadConfig, parseCommand, positionalsOf, type Command } from '../command.ts';
import { readInteger } from '../integer.ts';
import { closeOnStop, Closers } from '../lifecycle.ts';
import { print, printJson } from '../terminal.ts';

export const simnetCommand: Command = {
  help: `Run a simulated Solana chain that serves JSON-RPC and PubSub.

Usage: sluice simnet [options]

  --host ADDRESS            address to listen on. Default: 127.0.0.1
  --port N                  port of JSON-RPC; 0 chooses a free port. Default: 8899
  --seed N                  the same seed gives the same market. Default: 1
  --trades-per-second N     0 to 10000. Default: 8
  --no-market               make blocks, but no trades
  --json                    print JSON

The command prints the values of SOLANA_RPC_URL and SOLANA_WS_URL for this chain, and runs until Ctrl-C.

Example: sluice simnet --trades-per-second 50`,
  async run(argv) {
    const { values, positionals } = parseCommand(argv, {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '8899' },
      seed: { type: 'string', default: '1' },
      'trades-per-second': { type: 'string' },
      'no-market': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    });
    positionalsOf(positionals);
    const port = readInteger('--port', values.port, 0, 65_535);
    const seed = readInteger('--seed', values.seed, 0, 2 ** 32 - 1);
    const rate = values['trades-per-second'];
    const tradesPerSecond = rate === undefined ? undefined : readInteger('--trades-per-second', rate, 0, 10_000);
    if (values['no-market'] && tradesPerSecond !== undefined)
      throw new UsageError('--no-market and --trades-per-second cannot be combined');
    const market = values['no-market'] ? false : tradesPerSecond === undefined ? undefined : { tradesPerSecond };

    const log = createLog({ level: loadConfig().logLevel, name: 'simnet' });
    const closers = new Closers();
    const signal = closeOnStop(log, closers);
    const simnet = await startSimnet({ host: values.host, port, seed, log, signal, ...(market === undefined ? {} : { market }) }).catch(
      (error: unknown) => {
        throw new CommandError(`The simulated chain cannot listen on ${values.host}:${port}: ${String(error)}`, { cause: error });
      },
    );
    closers.add('simnet', () => simnet.close());
    if (values.json) printJson({ rpcUrl: simnet.rpcUrl, wsUrl: simnet.wsUrl, seed, simulated: true });
    else print(`A SIMULATED chain is running.\n\n  SOLANA_RPC_URL=${simnet.rpcUrl}\n  SOLANA_WS_URL=${simnet.wsUrl}\n`);
    return untilAborted(signal);
  },
};

/** The signal handler usually ends the process first, once everything is closed. */
function untilAborted(signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(0), { once: true });
  });
}
