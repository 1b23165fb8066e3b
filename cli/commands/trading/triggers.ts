import { Sluice, SluiceError, type TriggerObject } from '@sluice/client';
import { printableValue } from '@sluice/shared/runtime/log/terminal-text.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { triggerStatuses } from '@sluice/shared/wire/orders/triggers.ts';
import { triggerPageLimits } from '@sluice/shared/wire/rest/trading/triggers.ts';
import {
  action,
  CommandError,
  flag,
  inQuotes,
  loadConfig,
  option,
  UsageError,
  type Group,
  type Printed,
} from '../../command-line/command.ts';
import { isoTime, tableText } from '../../command-line/terminal.ts';
import { gatewayUrl, httpUrl } from '../../gateway/gateway-probe.ts';
import { keyForSluice } from '../keys/command-key.ts';

/** Pages that one `list` reads. */
const maxPages = 200;

const place = {
  url: option('URL', 'the URL of the gateway. Default: from HOST and PORT'),
  key: option('API_KEY', 'the API key whose triggers you mean, with the scope trade. Default: SLUICE_API_KEY'),
} as const;
const filters = {
  mint: option('MINT', 'only triggers of this token'),
  wallet: option('PUBLIC_KEY', 'only triggers of this wallet'),
} as const;

interface Filters {
  readonly mint: string | undefined;
  readonly wallet: string | undefined;
}

interface Place {
  readonly url: string | undefined;
  readonly key: string | undefined;
}

/** Runs `use` with a client of the gateway. An error of the gateway becomes the message of the command. */
async function withGateway<T>(values: Place, use: (sluice: Sluice) => Promise<T>): Promise<T> {
  const given = values.key ?? process.env['SLUICE_API_KEY'];
  if (!given) throw new UsageError('triggers belong to an API key: --key API_KEY, or SLUICE_API_KEY');
  const config = loadConfig();
  const url = httpUrl(values.url ?? gatewayUrl(config));
  const sluice = new Sluice({ url, apiKey: keyForSluice(url, config, async () => given) });
  try {
    return await use(sluice);
  } catch (error) {
    if (error instanceof SluiceError) throw new CommandError(`${error.code}: ${error.message}`);
    throw error;
  } finally {
    sluice.close();
  }
}

function readFilters({ mint, wallet }: Filters): { readonly mint?: string; readonly publicKey?: string } {
  for (const address of [mint, wallet])
    if (address !== undefined && !isAddress(address)) throw new UsageError(`not an address: ${inQuotes(address)}`);
  return { ...(mint !== undefined && { mint }), ...(wallet !== undefined && { publicKey: wallet }) };
}

function whenText({ when }: TriggerObject): string {
  if ('metric' in when) return `${when.metric} ${when.op} ${when.value}`;
  if ('position' in when) return `${when.position} ${when.op} ${when.value}`;
  if ('trailing' in when) return `trailing ${when.trailing.metric} ${when.trailing.percent} %`;
  if ('at' in when) return `at ${isoTime(when.at)}`;
  if ('every' in when) return `every ${when.every}, ${when.times} times`;
  if ('event' in when) return when.event;
  return 'filled' in when ? `filled ${when.filled}` : `${when.side} of ${when.account}`;
}

const headings = ['trigger', 'status', 'side', 'amount', 'mint', 'when', 'waits for', 'costs at most'] as const;

function rowOf(trigger: TriggerObject): readonly string[] {
  const { triggerId, status, side, amount, mint, waitingFor, error, maxCostSol } = printableValue(trigger);
  const why = error?.code ?? waitingFor ?? '';
  return [triggerId, status, side, String(amount), mint ?? '', whenText(printableValue(trigger)), why, `${maxCostSol} SOL`];
}

const list = action({
  about: 'Print the triggers of an API key, newest first: orders that wait for a condition.',
  options: {
    ...place,
    ...filters,
    status: option('STATUS', `only triggers in this state: ${triggerStatuses.join(', ')}`),
  },
  examples: ['triggers list --status armed'],
  async run(values): Promise<Printed> {
    const status = triggerStatuses.find((one) => one === values.status);
    if (values.status !== undefined && status === undefined) throw new UsageError(`--status takes one of ${triggerStatuses.join(', ')}`);
    const query = { ...readFilters(values), ...(status !== undefined && { status }), limit: triggerPageLimits.max };
    const triggers = await withGateway(values, (sluice) => allPages(sluice, query));
    const text = triggers.length === 0 ? 'There are no such triggers.' : tableText(headings, triggers.map(rowOf));
    return { json: triggers, text };
  },
});

async function allPages(sluice: Sluice, query: Parameters<Sluice['triggers']['list']>[0]): Promise<readonly TriggerObject[]> {
  const found: TriggerObject[] = [];
  let before: string | null = null;
  for (let pages = 0; pages < maxPages; pages++) {
    const page = await sluice.triggers.list({ ...query, ...(before !== null && { before }) });
    found.push(...page.triggers);
    before = page.next;
    if (before === null) break;
  }
  return found;
}

const cancel = action({
  about: 'Cancel triggers by id, by token or by wallet. What is firing places no further order.',
  args: { '[trigger…]': 'ids of triggers' },
  options: { ...place, ...filters, all: flag('all triggers of the API key and its account') },
  examples: ['triggers cancel <trigger>', 'triggers cancel --mint <mint>', 'triggers cancel --all'],
  async run(values, ids): Promise<Printed> {
    const query = readFilters(values);
    const hasFilter = Object.keys(query).length > 0;
    if ([ids.length > 0, hasFilter, values.all].filter(Boolean).length !== 1)
      throw new UsageError('name triggers, or give --mint, --wallet or both, or --all');
    return withGateway(values, async (sluice): Promise<Printed> => {
      if (ids.length === 0) {
        const counts = await sluice.triggers.cancelAll(query);
        return { json: counts, text: countsText(counts.cancelled, counts.firing) };
      }
      const cancelled: TriggerObject[] = [];
      for (const id of ids) cancelled.push(await sluice.triggers.cancel(id));
      return { json: cancelled, text: cancelled.map(({ triggerId, status }) => `${triggerId} ${status}`).join('\n') };
    });
  },
});

function countsText(cancelled: number, firing: number): string {
  const rest = firing === 0 ? '' : ` ${firing} were firing, and place no further order.`;
  return `${cancelled} cancelled.${rest}`;
}

export const command: Group = {
  about: 'List and cancel triggers: orders that wait for a condition.',
  actions: { list, cancel },
};
