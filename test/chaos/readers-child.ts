import { createRandom } from '../simnet/market/random.ts';
import { Judge, type Learned } from './judge.ts';
import type { ReadersOrder, ReadersReport, ReadersMessage } from './readers.ts';
import { historyOf, ResumingClient } from './resuming-client.ts';

/** A process with many light clients. Messages control it and query it (`readers.ts`). It ends with the process that started it. */
const sendEveryMs = 100;
const stateEveryMs = 500;

const confirmed = 'confirmed';
const clients: ResumingClient[] = [];
let learned: Learned[] = [];
const judge = new Judge({
  passes: () => false,
  partOf: (client) => (client.startsWith(confirmed) ? 'valid' : 'all'),
  onLearned: (entry) => void learned.push(entry),
});

const send = (message: ReadersMessage): void => void process.send!(message);

function sendLearned(): void {
  if (learned.length > 0) send({ kind: 'learned', learned });
  learned = [];
}

function report(isFinal = false): ReadersReport {
  const closes: Record<string, number> = {};
  for (const client of clients) for (const [code, times] of client.closes) closes[code] = (closes[code] ?? 0) + times;
  const { user, system } = process.cpuUsage();
  return {
    readers: clients.length,
    isFollowing: clients.every(({ isFollowing }) => isFollowing),
    isCaughtUp: judge.isCaughtUp(),
    deliveries: judge.deliveries,
    retractions: judge.retractions,
    resumes: clients.reduce((sum, { counts }) => sum + counts.resumes, 0),
    gaps: Object.fromEntries(judge.gaps),
    closes,
    disconnectedMs: clients.flatMap(({ disconnectedMs }) => disconnectedMs),
    counts: judge.counts,
    faults: judge.faults,
    evidence: isFinal && judge.faults.length > 0 ? [...judge.evidence, ...clients.flatMap(historyOf)] : [],
    rssBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
  };
}

function follow({ hosts, apiKey, seed, readers }: Extract<ReadersOrder, { kind: 'follow' }>): void {
  const random = createRandom(seed);
  for (const [at, { name, subscriptions }] of readers.entries()) {
    const client = new ResumingClient({
      name,
      hosts,
      apiKey,
      format: 'light',
      batch: at % 4 !== 0,
      subscriptions,
      witness: judge,
      random: () => random.next(),
    });
    clients.push(client);
    client.start();
  }
}

process.on('message', (order: ReadersOrder) => {
  if (order.kind === 'follow') follow(order);
  else if (order.kind === 'forgot') judge.forgot();
  else if (order.kind === 'restarted') judge.restarted();
  else {
    judge.expectEnds(order.ends);
    if (order.final) judge.judgeClients();
    sendLearned();
    send({ kind: 'answer', report: report(order.final) });
  }
});
process.on('disconnect', () => process.exit(0));
setInterval(sendLearned, sendEveryMs);
setInterval(() => send({ kind: 'state', report: report() }), stateEveryMs);
