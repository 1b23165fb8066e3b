import { Sluice } from '@sluice/client';
import manifest from '../../../package.json' with { type: 'json' };
import { action, CommandError, flag, loadConfig, option } from '../../command-line/command.ts';
import { gatewayUrl, httpUrl } from '../../gateway/gateway-probe.ts';
import { keyForSluice } from '../keys/command-key.ts';
import { ownCommand, ownProgram } from '../../start/own-command.ts';
import { serveLines } from './json-rpc.ts';
import { mcpServer } from './server.ts';
import { toolsOf, untrusted } from './tools.ts';

/** The configuration that agents read, with the command of this installation. */
function agentConfig(): string {
  const { command, args } = ownProgram();
  const server = { command, args: [...args, 'mcp'], env: { SLUICE_API_KEY: '<key>' } };
  return `  ${JSON.stringify({ mcpServers: { sluice: server } })}`;
}

export const command = action({
  about: 'Serve tools to an agent by the Model Context Protocol, on standard input and output. SLUICE_API_KEY is the key that they use.',
  options: {
    url: option('URL', 'the URL of the gateway. Default: from HOST and PORT'),
    'allow-trading': flag(
      'the tools buy, sell and batch place orders, and arm_trigger arms triggers, if the agent sets dryRun to false. Without this option, they only do dry runs, and triggers cannot be cancelled, nor paper balances set',
    ),
  },
  more: `Tools: token_info, token_candles, token_trades, portfolio, positions, quote, explain, order, orders, trigger, triggers, buy, sell, batch, arm_trigger,
cancel_trigger, cancel_triggers, paper_balance.
The API key limits what they reach: give an agent a key with the scope read if it must not trade.

Make the key: ${ownCommand()} keys create --plan standard --scopes read

Then configure the agent. Most read this JSON, from any folder:
${agentConfig()}`,
  async run(values) {
    const key = process.env['SLUICE_API_KEY'];
    if (!key) throw new CommandError('SLUICE_API_KEY: missing. Set it to the API key that the tools use.');
    const allowTrading = values['allow-trading'];
    const config = loadConfig();
    const url = httpUrl(values.url ?? gatewayUrl(config));
    const sluice = new Sluice({ url, apiKey: keyForSluice(url, config, async () => key) });
    const purpose = allowTrading
      ? 'Market data and trading of Solana tokens. Set dryRun to false only for an order that the user wants, with the minOut of the quote that the user has seen.'
      : 'Market data of Solana tokens, and dry runs of orders. This server sends no orders.';
    const instructions = `${purpose} ${untrusted}`;
    const server = mcpServer({ sluice, tools: toolsOf({ allowTrading }), version: manifest.version, instructions });
    try {
      await serveLines(process.stdin, (line) => process.stdout.write(`${line}\n`), server);
      return 0;
    } finally {
      sluice.close();
    }
  },
});
